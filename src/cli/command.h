// The subcommands of `hoplite`. Each has one file, command_NAME.cpp, which declares the options
// and, once they are read, chooses what to run. Nothing else in the project reads flags or
// environment.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include <hoplite/result.h>

namespace hoplite::cli {

// What the command line asked for. An error is printed by the caller as "code: sentence".
using Action = std::function<Result<void>()>;
// Adds one subcommand.
using AddCommand = void (*)(CLI::App& app, Action& chosen);

void AddDirectory(CLI::App& app, Action& chosen);
void AddNode(CLI::App& app, Action& chosen);
void AddCerts(CLI::App& app, Action& chosen);
void AddPut(CLI::App& app, Action& chosen);
void AddGet(CLI::App& app, Action& chosen);
void AddDelete(CLI::App& app, Action& chosen);
void AddReduce(CLI::App& app, Action& chosen);
void AddStatus(CLI::App& app, Action& chosen);
void AddInfo(CLI::App& app, Action& chosen);
void AddWhy(CLI::App& app, Action& chosen);
void AddTrace(CLI::App& app, Action& chosen);
void AddTop(CLI::App& app, Action& chosen);
void AddUp(CLI::App& app, Action& chosen);
void AddDemo(CLI::App& app, Action& chosen);

}  // namespace hoplite::cli
