// hoplite sim: the real planner over a simulated network.
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "sim/broadcast.h"

namespace hoplite::cli {
namespace {

struct Options {
  sim::Options world;
  bool json = false;
};

Result<sim::Kill> ParseKill(const std::string& text) {
  sim::Kill kill;
  const auto at = text.find('@');
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), kill.node);
  if (at == std::string::npos || status != std::errc{} || end != text.data() + at) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 fmt::format("'{}' is no death: write NODE@TIME as 3@20ms", text)));
  }
  TRY_ASSIGN(kill.at, ParseDuration(std::string_view(text).substr(at + 1)));
  return kill;
}

Result<void> RunSim(const Options& options) {
  TRY_ASSIGN(const sim::Report report, sim::RunBroadcast(options.world));
  fmt::print("{}\n", options.json ? sim::ToJson(report) : sim::ToText(report));
  if (report.violation.empty()) return {};
  return std::unexpected(Error(ErrorCode::kInternal, fmt::format("a property was broken: {}; {}",
                                                                 report.violation, report.replay)));
}

void AddFaults(CLI::App& command, sim::Options& world) {
  const auto number = [&command](const char* flag, std::uint32_t& target, const char* help) {
    command.add_option(flag, target, help)->type_name("N")->group("Faults")->capture_default_str();
  };
  const auto time = [&command](const char* flag, Duration& target, const char* help) {
    AddDuration(command, flag, target, help)->group("Faults");
  };
  number("--kill", world.kills, "receivers that die at random moments");
  command
      .add_option(
          "--kill-at",
          [&world](const CLI::results_t& values) {
            for (const std::string& value : values) {
              const auto kill = ParseKill(value);
              if (!kill) throw CLI::ValidationError("--kill-at", kill.error().message);
              world.kill_at.push_back(*kill);
            }
            return true;
          },
          "a death at a chosen moment; may be repeated")
      ->type_name("NODE@TIME")
      ->allow_extra_args(false)
      ->expected(1, 1 << 20)
      ->group("Faults");
  time("--spread", world.spread, "receivers ask at random moments within this time");
  time("--put-time", world.put_time, "how long the producer takes to fill its copy");
  number("--restarts", world.restarts, "times that the directory loses its state");
  number("--session-breaks", world.session_breaks, "control streams that end and come back");
  number("--memory-waits", world.memory_waits, "receivers that get their memory late");
  number("--reputs", world.reputs, "times that other bytes are put under the same id");
  number("--deletes", world.deletes, "Deletes at random moments");
  number("--cancels", world.cancels, "Gets that are given up at random moments");
  number("--evictions", world.evictions, "relayed copies that a node wants to drop");
  number("--subscriptions", world.subscriptions, "nodes that follow where the object is");
  time("--recovery-window", world.recovery_window, "of a restarted directory");
  time("--grace", world.grace, "from the end of a session to the loss of its node");
}

void AddPlan(CLI::App& command, sim::Options& world) {
  command.add_option("--groups", world.groups, "groups of stripes that are planned separately")
      ->capture_default_str();
  command.add_option("--stripes", world.stripes, "0: what the size asks for")
      ->capture_default_str();
  AddSize(command, "--inline-limit", world.inline_limit_bytes,
          "objects up to this size travel through the directory");
}

void AddBroadcast(CLI::App& sim, Action& chosen) {
  CLI::App* command = sim.add_subcommand("broadcast", "one object from one node to all others");
  const auto options = std::make_shared<Options>();
  sim::Options& world = options->world;
  command->add_option("--nodes", world.nodes, "how many, the producer among them")
      ->type_name("N")
      ->required();
  AddSize(*command, "--size", world.size_bytes, "of the object")->required();
  AddRate(*command, "--bandwidth", world.bytes_per_second, "of each link, as 10gbit")->required();
  AddDuration(*command, "--latency", world.latency, "of each link, as 100us")->required();
  command->add_option("--seed", world.seed, "the same seed gives the same history")
      ->capture_default_str();
  AddPlan(*command, world);
  AddFaults(*command, world);
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunSim(*options); }; });
}

// Known by name, so that the answer is a sentence and not a complaint about the command line.
void AddUnbuilt(CLI::App& sim, const std::string& name, Action& chosen) {
  CLI::App* command = sim.add_subcommand(name, "comes in the next release");
  command->allow_extras();
  command->callback([&chosen, name] {
    chosen = [name]() -> Result<void> {
      return std::unexpected(
          Error(ErrorCode::kUnavailable,
                fmt::format("sim {} is not built yet: comes in the next release", name)));
    };
  });
}

}  // namespace

void AddSim(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("sim", "runs the planner over a simulated network");
  AddBroadcast(*command, chosen);
  AddUnbuilt(*command, "reduce", chosen);
  AddUnbuilt(*command, "allreduce", chosen);
}

}  // namespace hoplite::cli
