// hoplite demo: see demo/demo.h.
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/demo/demo.h"
#include "cli/options.h"

namespace hoplite::cli {
namespace {

struct DemoArguments {
  std::string file;
  bool web = false;
  bool json = false;
};

}  // namespace

void AddDemo(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "demo", "a broadcast and reductions over a local cluster of processes, one of them dies");
  const auto options = std::make_shared<DemoArguments>();
  command->add_option("file", options->file, "what to broadcast; without it some large file")
      ->type_name("FILE");
  CLI::Option* web =
      command->add_flag("--web", options->web,
                        "show it in a browser, too, until Enter or Ctrl-C, 10 minutes at most");
  AddJson(*command, options->json)->excludes(web);
  command->callback([&chosen, options] {
    chosen = [options] { return demo::RunDemo(options->file, options->web, options->json); };
  });
}

}  // namespace hoplite::cli
