// hoplite delete: deletes objects everywhere, prints those that are gone.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <hoplite/client.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/timeouts.h"

namespace hoplite::cli {
namespace {

struct Options {
  std::vector<ObjectId> ids;
  std::string socket;
  bool json = false;
};

Result<void> RunDelete(const Options& options) {
  TRY_ASSIGN(Client client, Client::Connect(options.socket));
  Json deleted = Json::array();
  for (const ObjectId& id : options.ids) {
    TRY(client.Delete(id, {.timeout = kAnswerTimeout}));
    deleted.push_back(id.ToHex());
    if (!options.json) fmt::print("{}\n", id.ToHex());
  }
  if (options.json) Print({{"deleted", deleted}});
  return {};
}

}  // namespace

void AddDelete(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("delete", "deletes objects everywhere");
  const auto options = std::make_shared<Options>();
  AddIds(*command, options->ids, "40 hexadecimal digits, or name:TEXT");
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunDelete(*options); }; });
}

}  // namespace hoplite::cli
