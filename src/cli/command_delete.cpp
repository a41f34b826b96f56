// hoplite delete: deletes objects everywhere, prints those that are gone.
#include <memory>
#include <string>
#include <vector>

#include <hoplite/client.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/timeouts.h"

namespace hoplite::cli {
namespace {

struct DeleteArguments {
  std::vector<ObjectId> ids;
  Duration timeout = kAnswerTimeout;
  NodeSocket socket;
  bool json = false;
};

Result<void> RunDelete(const DeleteArguments& options) {
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  Json deleted = Json::array();
  for (const ObjectId& id : options.ids) {
    TRY(client.Delete(id, {.timeout = deadline.left()}));
    deleted.push_back(id.ToHex());
    if (!options.json) TRY(Print(id.ToHex() + '\n'));
  }
  return options.json ? Print(Json{{"deleted", deleted}}) : Result<void>();
}

}  // namespace

void AddDelete(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("delete", "deletes objects everywhere");
  const auto options = std::make_shared<DeleteArguments>();
  AddIds(*command, options->ids, "40 hexadecimal digits, or name:TEXT");
  AddAnswerTimeout(*command, options->timeout);
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunDelete(*options); }; });
}

}  // namespace hoplite::cli
