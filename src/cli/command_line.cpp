#include "cli/command_line.h"

#include <algorithm>
#include <new>
#include <ostream>
#include <utility>

#include "cli/command.h"

namespace hoplite::cli {
namespace {

// Endless standard input, for example, ends with a sentence too.
Result<void> Perform(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted, "this machine has no memory left"));
  }
}

}  // namespace

ExitStatus Run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  CLI::App app("Moves large immutable objects between the nodes of a cluster.", "hoplite");
  app.set_version_flag("--version", "hoplite " HOPLITE_VERSION);
  app.option_defaults()->always_capture_default();
  Action chosen;
  for (const auto add : {AddDirectory, AddNode, AddPut, AddGet, AddDelete, AddReduce, AddStatus,
                         AddInfo, AddUp, AddSim, AddDemo}) {
    add(app, chosen);
  }
  std::ranges::reverse(arguments);  // CLI11 takes them last first
  try {
    app.parse(std::move(arguments));
    // Not require_subcommand(): it would not name an unknown one.
    if (!chosen) throw CLI::RequiredError("A command");
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? ExitStatus::kDone : ExitStatus::kUsage;
  }
  const Result<void> result = Perform(chosen);
  if (result) return ExitStatus::kDone;
  err << result.error().ToString() << std::endl;
  return ExitStatus::kFailed;
}

}  // namespace hoplite::cli
