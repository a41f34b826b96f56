// hoplite reduce: its options are fixed already, so that scripts can be written; the operation
// itself is not part of this release.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"

namespace hoplite::cli {
namespace {

struct Options {
  std::string op = "sum";
  std::string dtype;
  std::uint64_t num_objects = 0;
  ObjectId target;
  std::vector<ObjectId> sources;
  Duration timeout{0};
  std::string socket;
  bool json = false;
};

}  // namespace

void AddReduce(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("reduce", "reduces objects (comes in the next release)");
  const auto options = std::make_shared<Options>();
  command->add_option("--op", options->op, "sum, prod, min, max, ...")->required();
  command->add_option("--dtype", options->dtype, "float32, int64, ...")->required();
  command->add_option("--num-objects", options->num_objects, "how many of the sources; default all")
      ->type_name("K");
  AddId(*command, "--target", options->target, "the id of the result");
  AddDuration(*command, "--timeout", options->timeout, "give up after this time");
  AddIds(*command, options->sources, "the sources");
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options] {
    chosen = []() -> Result<void> {
      return std::unexpected(
          Error(ErrorCode::kUnavailable, "reduce is not built yet: comes in the next release"));
    };
  });
}

}  // namespace hoplite::cli
