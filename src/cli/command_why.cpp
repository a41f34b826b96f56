// hoplite why: why an object is not complete, in words.
#include <memory>
#include <string>

#include <hoplite/client.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/timeouts.h"
#include "cli/typed_names.h"

namespace hoplite::cli {
namespace {

struct WhyArguments {
  ObjectId id;
  Duration timeout = kAnswerTimeout;
  NodeSocket socket;
  bool json = false;
};

Result<void> RunWhy(const WhyArguments& options) {
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  TRY_ASSIGN(const std::string why, client.Why(options.id, {.timeout = deadline.left()}));
  if (!options.json) return Print(WithTypedNames(why) + '\n');
  return Print(Json{{"id", options.id.ToHex()}, {"why", why}});
}

}  // namespace

void AddWhy(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "why", "says what a get, put or reduction of an object waits for, here and at other nodes");
  const auto options = std::make_shared<WhyArguments>();
  AddId(*command, "id", options->id, "40 hexadecimal digits, or name:TEXT")->required();
  AddAnswerTimeout(*command, options->timeout);
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunWhy(*options); }; });
}

}  // namespace hoplite::cli
