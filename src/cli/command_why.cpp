// hoplite why: why an object is not complete, in words.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <hoplite/client.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/timeouts.h"
#include "cli/typed_names.h"

namespace hoplite::cli {
namespace {

constexpr std::size_t kMostNamed = 100;
constexpr std::chrono::seconds kNamesTakeAtMost(1);

struct WhyArguments {
  ObjectId id;
  Duration timeout = kAnswerTimeout;
  NodeSocket socket;
  bool json = false;
};

// As they were typed, or as their shards know them.
IdNames NamesOf(std::vector<ObjectId> ids, Client& client, const Deadline& deadline) {
  IdNames names = TypedNames();
  std::erase_if(ids, [&](const ObjectId& id) { return names.Knows(id); });
  ids.resize(std::min(ids.size(), kMostNamed));
  const auto patience = std::min<std::chrono::milliseconds>(deadline.left(), kNamesTakeAtMost);
  for (const auto& known : client.Info(ids, {.timeout = patience})) {
    if (known) names.Add(*known);
  }
  return names;
}

Result<void> RunWhy(const WhyArguments& options) {
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  TRY_ASSIGN(const std::string why, client.Why(options.id, {.timeout = deadline.left()}));
  if (options.json) return Print(Json{{"id", options.id.ToHex()}, {"why", why}});
  return Print(NamesOf(IdsIn(why), client, deadline).In(why) + '\n');
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
