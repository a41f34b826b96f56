#include "cli/command_line.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <optional>
#include <ostream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/descriptors.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/typed_names.h"

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

// What was probably meant: what begins like it, or differs by a slip or two; empty: nothing is near.
std::string Nearest(const std::string& typed, const std::vector<std::string>& words) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  for (const std::string& word : words) {
    const bool begun = typed.size() >= 2 && word.starts_with(typed);
    const std::size_t distance = begun ? 1 : EditDistance(typed, word);
    if (distance < least) nearest = word;
    least = std::min(least, distance);
  }
  return nearest;
}

// What to say if the first argument is no command; null: it is one, or an option, or not there.
std::optional<std::string> UnknownCommand(const CLI::App& app,
                                          const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return std::nullopt;
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  if (std::ranges::find(commands, arguments[0]) != commands.end()) return std::nullopt;
  const std::string nearest = Nearest(arguments[0], commands);
  const std::string hint = nearest.empty() ? "" : "; the nearest is '" + nearest + "'";
  return "no such command: '" + arguments[0] + "'" + hint;
}

// CLI11 lists what was too much last first.
CLI::ExtrasError InOrder(const CLI::App& app) {
  const CLI::App* command = &app;
  while (command->remaining().empty() && !command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
  }
  std::vector<std::string> extras = command->remaining();
  std::ranges::reverse(extras);  // it will do it again
  return {command->get_name(), std::move(extras)};
}

ExitStatus Fail(const std::vector<std::string>& arguments, const Error& error, std::ostream& err) {
  Complain(arguments, error, error.ToString() + '\n', err);
  return ExitStatus::kFailed;
}

ExitStatus Misused(const std::vector<std::string>& arguments, const std::string& complaint,
                   const std::string& words, std::ostream& err) {
  Complain(arguments, Error(ErrorCode::kInvalidArgument, complaint), words, err);
  return ExitStatus::kUsage;
}

// What the parser throws: help, the version, or a complaint.
ExitStatus End(const CLI::App& app, const CLI::ParseError& thrown,
               const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  std::ostringstream words;
  if (app.exit(thrown, out, words) != 0) return Misused(arguments, thrown.what(), words.str(), err);
  if (out.flush()) return ExitStatus::kDone;
  return Fail(arguments, OutputError("-", "write"), err);
}

// Chooses what to do; or the end, if there is nothing to do but to say something.
std::optional<ExitStatus> Parse(CLI::App& app, const std::vector<std::string>& arguments,
                                const Action& chosen, std::ostream& out, std::ostream& err) {
  ForgetTypedNames();
  try {
    app.parse(std::vector(arguments.rbegin(), arguments.rend()));  // CLI11 takes them last first
    // Not require_subcommand(): it would not name an unknown one.
    if (chosen) return std::nullopt;
    throw CLI::RequiredError("A command");
  } catch (const CLI::ExtrasError&) {
    return End(app, InOrder(app), arguments, out, err);
  } catch (const CLI::ParseError& thrown) {
    return End(app, thrown, arguments, out, err);
  }
}

// Exceptions end with a sentence, too: no memory (endless standard input, for example), and what
// Asio throws when the system refuses a descriptor or a thread.
Result<ExitStatus> Perform(const Action& action) {
  try {
    TRY(RequireDescriptors(kDescriptors, "a command"));
    TRY_ASSIGN(const ExitStatus status, action());
    TRY(CheckOutput());
    return status;
  } catch (const std::system_error& error) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted, error.what()));
  } catch (const std::bad_alloc&) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted, "this machine has no memory left"));
  }
}

}  // namespace

void Complain(const std::vector<std::string>& arguments, const Error& error,
              const std::string& words, std::ostream& err) {
  err << PrintableText(WithTypedNames(words)) << std::flush;
  const auto options_end = std::ranges::find(arguments, "--");
  if (std::find(arguments.begin(), options_end, "--json") == options_end) return;
  // If standard output is closed or full, standard error has said it.
  (void)Print(
      Json{{"error", {{"code", Name(error.code)}, {"message", WithTypedNames(error.message)}}}});
}

ExitStatus Run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
               const std::vector<AddCommand>& more) {
  CLI::App app("Moves large immutable objects between the nodes of a cluster.", "hoplite");
  app.set_version_flag("--version", "hoplite " HOPLITE_VERSION);
  app.option_defaults()->always_capture_default();
  Action chosen;
  for (const AddCommand add :
       {AddDirectory, AddNode, AddCerts, AddPut, AddGet, AddDelete, AddReduce, AddStatus, AddInfo,
        AddWhy, AddTrace, AddTop, AddDoctor, AddUp, AddDemo}) {
    add(app, chosen);
  }
  for (const AddCommand add : more) add(app, chosen);
  if (const auto unknown = UnknownCommand(app, arguments)) {
    return Misused(arguments, *unknown, *unknown + "\nRun with --help for a list.\n", err);
  }
  if (const auto ended = Parse(app, arguments, chosen, out, err)) return *ended;
  const Result<ExitStatus> result = Perform(chosen);
  return result ? *result : Fail(arguments, result.error(), err);
}

}  // namespace hoplite::cli
