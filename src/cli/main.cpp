// The program `hoplite`: see command_line.h.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  if (const char* level = std::getenv("HOPLITE_LOG"); level && !hoplite::log::SetLevel(level)) {
    std::cerr << "HOPLITE_LOG is '" << level << "': write trace, debug, info, warn, error or off\n";
    return static_cast<int>(hoplite::cli::ExitStatus::kUsage);
  }
  // Errors are told in our words; gRPC would print its own beside them.
  ::setenv("GRPC_VERBOSITY", "NONE", /*replace=*/0);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(hoplite::cli::Run(arguments, std::cout, std::cerr));
}
