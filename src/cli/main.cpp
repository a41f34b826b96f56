// The program `hoplite`: see command_line.h.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/command_line.h"
#include "cli/standard_streams.h"
#include "sim/commands/sim_commands.h"

namespace {

// The loader calls the functions of this section before all others.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const occupy)() = &hoplite::cli::OccupyStandardStreams;

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!hoplite::cli::StandardStreamsAreOpen()) {
    const hoplite::Error error(hoplite::ErrorCode::kResourceExhausted,
                               "/dev/null can't be opened in place of a closed stream");
    hoplite::cli::Complain(arguments, error, error.ToString() + '\n', std::cerr);
    return static_cast<int>(hoplite::cli::ExitStatus::kFailed);
  }
  if (const char* level = std::getenv("HOPLITE_LOG"); level && !hoplite::log::SetLevel(level)) {
    const hoplite::Error error(hoplite::ErrorCode::kInvalidArgument,
                               "HOPLITE_LOG is '" + std::string(level) +
                                   "': write trace, debug, info, warn, error or off");
    hoplite::cli::Complain(arguments, error, error.message + '\n', std::cerr);
    return static_cast<int>(hoplite::cli::ExitStatus::kUsage);
  }
  // A file beyond the limit of its size (ulimit -f) is an error of the write, not a death.
  std::signal(SIGXFSZ, SIG_IGN);
  return static_cast<int>(
      hoplite::cli::Run(arguments, std::cout, std::cerr, {hoplite::cli::AddSim}));
}
