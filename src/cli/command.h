// The subcommands of `hoplite`. Each has one file, command_NAME.cpp, which declares the options
// and, once they are read, chooses what to run. Nothing else in the project reads flags or
// environment.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>

#include <hoplite/result.h>

namespace hoplite::cli {

enum class ExitStatus : int {
  kDone = 0,
  kFailed = 1,  // the operation failed; standard error names the code and says why
  kUsage = 2,   // the arguments make no sense; nothing was done
  kLeft = 3,    // a node that was told to hand its objects on ended with some of them
};

// What the command line asked for: a function that gives a Result<void>, or a Result<ExitStatus> if
// it may end in more than one way. An error is printed by the caller as "code: sentence".
class Action {
 public:
  Action() = default;
  template <typename F>
    requires std::is_convertible_v<std::invoke_result_t<F&>, Result<void>>
  Action(F function)
      : function_([function = std::move(function)] {
          return function().transform([] { return ExitStatus::kDone; });
        }) {}
  template <typename F>
    requires std::is_same_v<std::invoke_result_t<F&>, Result<ExitStatus>>
  Action(F function) : function_(std::move(function)) {}

  explicit operator bool() const { return static_cast<bool>(function_); }
  Result<ExitStatus> operator()() const { return function_(); }

 private:
  std::function<Result<ExitStatus>()> function_;
};

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
void AddDoctor(CLI::App& app, Action& chosen);
void AddDemo(CLI::App& app, Action& chosen);

}  // namespace hoplite::cli
