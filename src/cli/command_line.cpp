#include "cli/command_line.h"

#include <algorithm>
#include <new>
#include <ostream>
#include <system_error>
#include <utility>

#include "base/descriptors.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"

namespace hoplite::cli {
namespace {

// A connection to a node with its memory, and one file.
constexpr std::size_t kDescriptors = 6;

// Endless standard input, for example, ends with a sentence too, and so does what Asio throws when
// the system refuses a descriptor or a thread.
Result<void> Perform(const Action& action) {
  try {
    TRY(RequireDescriptors(kDescriptors, "a command"));
    const Result<void> done = action();
    return done ? CheckOutput() : done;
  } catch (const std::system_error& error) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted, error.what()));
  } catch (const std::bad_alloc&) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted, "this machine has no memory left"));
  }
}

}  // namespace

ExitStatus Run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
               const std::vector<AddCommand>& more) {
  CLI::App app("Moves large immutable objects between the nodes of a cluster.", "hoplite");
  app.set_version_flag("--version", "hoplite " HOPLITE_VERSION);
  app.option_defaults()->always_capture_default();
  Action chosen;
  for (const AddCommand add : {AddDirectory, AddNode, AddPut, AddGet, AddDelete, AddReduce,
                               AddStatus, AddInfo, AddUp, AddDemo}) {
    add(app, chosen);
  }
  for (const AddCommand add : more) add(app, chosen);
  std::ranges::reverse(arguments);  // CLI11 takes them last first
  try {
    app.parse(std::move(arguments));
    // Not require_subcommand(): it would not name an unknown one.
    if (!chosen) throw CLI::RequiredError("A command");
  } catch (const CLI::ParseError& error) {
    if (app.exit(error, out, err) != 0) return ExitStatus::kUsage;
    if (out.flush()) return ExitStatus::kDone;
    err << OutputError("-", "write").ToString() << std::endl;
    return ExitStatus::kFailed;
  }
  const Result<void> result = Perform(chosen);
  if (result) return ExitStatus::kDone;
  err << result.error().ToString() << std::endl;
  return ExitStatus::kFailed;
}

}  // namespace hoplite::cli
