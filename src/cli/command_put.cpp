// hoplite put: stores a file, prints the object's id.
#include <memory>
#include <optional>
#include <string>

#include <hoplite/client.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/put_file.h"

namespace hoplite::cli {
namespace {

struct PutArguments {
  std::string file;
  ObjectId id = ObjectId::Random();
  std::optional<DType> dtype = {};
  Duration timeout = kAnswerTimeout;
  NodeSocket socket;
  bool json = false;
};

Result<void> RunPut(const PutArguments& options) {
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  TRY_ASSIGN(const std::uint64_t size,
             PutFile(client, {.id = options.id, .dtype = options.dtype}, options.file, deadline));
  if (options.json) return Print(Json{{"id", options.id.ToHex()}, {"size", size}});
  return Print(options.id.ToHex() + '\n');
}

}  // namespace

void AddPut(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("put", "stores a file, prints the object's id");
  const auto options = std::make_shared<PutArguments>();
  command->add_option("file", options->file, "what to store; - is standard input")
      ->type_name("FILE")
      ->required();
  AddId(*command, "--id", options->id,
        "40 hexadecimal digits, or name:TEXT; without it a random one");
  AddParsed(*command, "--dtype", options->dtype, ParseDType,
            "it is an array of float32, int64, ...; `hoplite reduce` goes by that")
      ->type_name("DTYPE");
  AddAnswerTimeout(*command, options->timeout);
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunPut(*options); }; });
}

}  // namespace hoplite::cli
