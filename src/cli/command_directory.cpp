// hoplite directory: runs one shard until it is told to stop.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <hoplite/directory.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

namespace hoplite::cli {
namespace {

struct DirectoryArguments {
  DirectoryConfig config;
  Duration recovery_window = DirectoryConfig{}.recovery_window;
  bool json = false;
};

Result<void> RunDirectory(const DirectoryArguments& options) {
  const StopSignal stop;
  TRY_ASSIGN(const auto directory, Directory::Start(options.config));
  if (options.json) {
    Print(ReadyEvent("directory", "", directory->address(), ""));
  } else {
    fmt::print("directory is ready at {}\n", directory->address());
    std::fflush(stdout);
  }
  stop.Wait();
  directory->Stop();
  return {};
}

}  // namespace

void AddDirectory(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("directory", "runs one directory shard");
  const auto options = std::make_shared<DirectoryArguments>();
  AddAddress(*command, "--listen", options->config.listen, "where nodes reach it; port 0 picks one")
      ->required();
  AddAddresses(*command, "--shards", options->config.shards,
               "all shards in order, this one among them; without it there is only this one");
  command->add_option("--cluster", options->config.cluster, "name of the cluster")
      ->type_name("NAME");
  AddDuration(*command, "--recovery-window", options->recovery_window,
              "how long it only collects what nodes hold; 0 for a cluster known to be new")
      ->default_str("1s");
  AddJson(*command, options->json);
  command->callback([&chosen, options] {
    options->config.recovery_window =
        std::chrono::ceil<std::chrono::milliseconds>(options->recovery_window);
    chosen = [options] { return RunDirectory(*options); };
  });
}

}  // namespace hoplite::cli
