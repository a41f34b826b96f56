// hoplite info: one object, who holds it, who waits for it and why.
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

struct InfoArguments {
  ObjectId id;
  Duration timeout = kAnswerTimeout;
  NodeSocket socket;
  bool json = false;
};

Result<void> RunInfo(const InfoArguments& options) {
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  TRY_ASSIGN(const ObjectInfo object, client.Info(options.id, {.timeout = deadline.left()}));
  return options.json ? Print(ToJson(object)) : Print(ToText(object, {}, TypedNames()));
}

}  // namespace

void AddInfo(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("info", "shows one object and who waits for it");
  const auto options = std::make_shared<InfoArguments>();
  AddId(*command, "id", options->id, "40 hexadecimal digits, or name:TEXT")->required();
  AddAnswerTimeout(*command, options->timeout);
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunInfo(*options); }; });
}

}  // namespace hoplite::cli
