// hoplite sim world: histories of whole nodes over a simulated network.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/log.h"
#include "base/try.h"
#include "cli/output.h"
#include "sim/commands/sim_commands.h"
#include "sim/node_world/run.h"

namespace hoplite::cli {
namespace {

struct SimWorldArguments {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  bool tell = false;
  bool json = false;
};

// A long run says after so many histories that it goes on.
constexpr std::uint64_t kAtOnce = 1000;

Result<void> Conclude(const node_world::Tally& tally) {
  if (!tally.broken_seed) return {};
  return std::unexpected(
      Error(ErrorCode::kInternal, fmt::format("a property was broken: {}; {}", tally.violation,
                                              node_world::ReplayCommand(*tally.broken_seed))));
}

Json ToJson(std::uint64_t first, const node_world::Tally& tally) {
  Json json = {{"seed", first},
               {"histories", tally.histories},
               {"steps", tally.steps},
               {"calls", tally.calls},
               {"succeeded", tally.succeeded},
               {"digest", fmt::format("{:016x}", tally.digest.value())},
               {"violation", tally.violation}};
  if (tally.broken_seed) json["replay"] = node_world::ReplayCommand(*tally.broken_seed);
  return json;
}

Result<void> TellOne(std::uint64_t seed) {
  const auto print = [](const std::string& line) { (void)Print(line + '\n'); };
  node_world::Tally tally;
  tally.Add(seed, node_world::World(node_world::Draw(seed), print).Run());
  TRY(Print(tally.ToString() + '\n'));
  return Conclude(tally);
}

Result<void> Run(const SimWorldArguments& options) {
  if (options.tell) return TellOne(options.seed);
  // What thousands of simulated nodes log is for --tell.
  if (std::getenv("HOPLITE_LOG") == nullptr) log::SetLevel(log::Level::kError);
  const std::uint64_t end = options.seed + options.seeds;
  for (std::uint64_t first = options.seed; first < end; first += kAtOnce) {
    const auto tally = node_world::RunSeeds(first, std::min(kAtOnce, end - first));
    TRY(options.json ? Print(ToJson(first, tally))
                     : Print(fmt::format("seeds from {}: {}\n", first, tally.ToString())));
    if (tally.broken_seed) return Conclude(tally);
  }
  if (!options.json) TRY(Print("\n" + std::string(node_world::Legend())));
  return {};
}

}  // namespace

void AddSimWorld(CLI::App& sim, Action& chosen) {
  CLI::App* command =
      sim.add_subcommand("world", "whole nodes: random calls, random faults, every property");
  command->footer("\nThe words of a tally:\n" + std::string(node_world::Legend()));
  const auto options = std::make_shared<SimWorldArguments>();
  command->add_option("--seed", options->seed, "the same seed gives the same history")
      ->capture_default_str();
  CLI::Option* seeds =
      command->add_option("--seeds", options->seeds, "so many histories, from that seed on")
          ->capture_default_str()
          ->check(CLI::PositiveNumber);
  CLI::Option* json =
      command->add_flag("--json", options->json, "a JSON document for each 1000 histories");
  command->add_flag("--tell", options->tell, "tell the one history line by line")
      ->excludes(seeds)
      ->excludes(json);
  command->callback([&chosen, options] { chosen = [options] { return Run(*options); }; });
}

}  // namespace hoplite::cli
