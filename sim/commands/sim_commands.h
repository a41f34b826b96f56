// The subcommands of `hoplite sim`.
#pragma once

#include "cli/command.h"

namespace hoplite::cli {

void AddSim(CLI::App& app, Action& chosen);
void AddSimWorld(CLI::App& sim, Action& chosen);  // one of its own subcommands

}  // namespace hoplite::cli
