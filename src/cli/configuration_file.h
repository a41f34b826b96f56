// --config FILE of a daemon: its options, in TOML, for those that are not on the command line. A key is an option
// without its dashes (`memory = "4GiB"`); a list is what the option takes with commas. What the file has and the command
// has not is a usage error. Must be added before the command's other options, which are read after it.
#pragma once

#include <CLI/CLI.hpp>

namespace hoplite::cli {

CLI::Option* AddConfigurationFile(CLI::App& command);

}  // namespace hoplite::cli
