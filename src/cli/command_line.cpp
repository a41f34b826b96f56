#include "cli/command_line.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/descriptors.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"

namespace hoplite::cli {
namespace {

// Enough for a connection to a node with its memory, and one file.
constexpr std::size_t kDescriptors = 6;

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// What to say if the first argument is no command; null: it is one, or an option, or not there.
std::optional<std::string> UnknownCommand(const CLI::App& app,
                                          const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return std::nullopt;
  std::string nearest;
  std::size_t least = arguments[0].size();
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::size_t distance = EditDistance(arguments[0], command->get_name());
    if (distance == 0) return std::nullopt;
    if (distance < least) nearest = command->get_name();
    least = std::min(least, distance);
  }
  const std::string hint = nearest.empty() ? "" : "; the nearest is '" + nearest + "'";
  return "no such command: '" + arguments[0] + "'" + hint;
}

// Exceptions end with a sentence, too: no memory (endless standard input, for example), and what
// Asio throws when the system refuses a descriptor or a thread.
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
  if (const auto unknown = UnknownCommand(app, arguments)) {
    err << *unknown << "\nRun with --help for a list.\n";
    return ExitStatus::kUsage;
  }
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
