// hoplite sim: the real planner over a simulated network.
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/try.h"
#include "cli/options.h"
#include "cli/output.h"
#include "sim/commands/sim_commands.h"
#include "sim/planner_world/allgather.h"
#include "sim/planner_world/broadcast.h"
#include "sim/planner_world/reduce.h"

namespace hoplite::cli {
namespace {

struct SimArguments {
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

Result<sim::CutPair> ParsePair(const std::string& text) {
  sim::CutPair pair;
  const char* const end = text.data() + text.size();
  const auto one = std::from_chars(text.data(), end, pair.one);
  const bool colon = one.ec == std::errc{} && one.ptr != end && *one.ptr == ':';
  const auto other = colon ? std::from_chars(one.ptr + 1, end, pair.other) : one;
  if (!colon || other.ec != std::errc{} || other.ptr != end) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 fmt::format("'{}' is no pair: write NODE:NODE as 1:2", text)));
  }
  return pair;
}

Result<sim::RateChange> ParseChange(const std::string& text) {
  const auto equals = text.find('=');
  const auto when = ParseKill(text.substr(0, equals));
  if (equals == std::string::npos || !when) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no change: write NODE@TIME=RATE as 3@20ms=50mbit", text)));
  }
  sim::RateChange change{.node = when->node, .at = when->at};
  TRY_ASSIGN(change.bytes_per_second, ParseRate(std::string_view(text).substr(equals + 1)));
  return change;
}

Result<std::uint64_t> ParseRateText(const std::string& text) { return ParseRate(text); }

Result<void> Judge(const std::string& violation, const std::string& replay) {
  if (violation.empty()) return {};
  return std::unexpected(
      Error(ErrorCode::kInternal, fmt::format("a property was broken: {}; {}", violation, replay)));
}

Result<void> RunSim(const SimArguments& options) {
  TRY_ASSIGN(const sim::Report report, options.world.reduce ? sim::RunReduce(options.world)
                                                            : sim::RunBroadcast(options.world));
  if (options.json) {
    TRY(Print(sim::ToJson(report) + '\n'));
  } else if (options.world.reduce) {
    TRY(Print(fmt::format("{}\n{}", sim::ReductionToText(report), sim::ReductionLegend())));
  } else {
    TRY(Print(fmt::format("{}\n{}", sim::ToText(report), sim::Legend())));
  }
  return Judge(report.violation, report.replay);
}

using Help = const char*;

void AddNumber(CLI::App& command, Help flag, std::uint32_t& target, Help help,
               Help group = "OPTIONS") {
  command.add_option(flag, target, help)->type_name("N")->group(group)->capture_default_str();
}

// Options that may be repeated: each value is parsed and added to the list.
template <typename T>
void AddList(CLI::App& command, Help flag, std::vector<T>& list,
             Result<T> (*parse)(const std::string&), Help type, Help help, Help group) {
  command
      .add_option(
          flag,
          [&list, flag, parse](const CLI::results_t& values) {
            for (const std::string& value : values) {
              const auto parsed = parse(value);
              if (!parsed) throw CLI::ValidationError(flag, parsed.error().message);
              list.push_back(*parsed);
            }
            return true;
          },
          help)
      ->type_name(type)
      ->allow_extra_args(false)
      ->expected(1, 1 << 20)
      ->group(group);
}

// Faults that broadcasts and reductions share.
void AddFaults(CLI::App& command, sim::Options& world) {
  AddNumber(command, "--kill", world.kills, "nodes that die at random moments", "Faults");
  AddList<sim::Kill>(command, "--kill-at", world.kill_at, &ParseKill, "NODE@TIME",
                     "a death at a chosen moment; may be repeated", "Faults");
  AddNumber(
      command, "--cuts", world.cuts,
      "pairs that can't connect from some moment on, one way or both, half of them for a while",
      "Faults");
  AddList<sim::CutPair>(command, "--cut-pair", world.cut_pairs, &ParsePair, "NODE:NODE",
                        "two that can't connect at all; may be repeated", "Faults");
  AddNumber(command, "--restarts", world.restarts, "times that the directory loses its state",
            "Faults");
  AddNumber(command, "--session-breaks", world.session_breaks,
            "control streams that end and come back", "Faults");
  AddNumber(command, "--slow-nodes", world.slow_nodes,
            "receivers in the middle, whose links carry a tenth");
  AddNumber(command, "--memory-waits", world.memory_waits, "receivers that get their memory late",
            "Faults");
  AddDuration(command, "--recovery-window", world.recovery_window, "of a restarted directory")
      ->group("Faults");
  AddDuration(command, "--grace", world.grace, "from the end of a session to the loss of its node")
      ->group("Faults");
}

void AddUnequalLinks(CLI::App& command, sim::UnequalLinks& links) {
  constexpr Help kGroup = "Unequal links";
  AddList<std::uint64_t>(command, "--rate", links.bytes_per_second, &ParseRateText, "RATE",
                         "of node 0, then of node 1, …: those not named are as the last one",
                         kGroup);
  AddList<sim::RateChange>(command, "--change-rate", links.changes, &ParseChange, "NODE@TIME=RATE",
                           "from then on a node's links carry so much", kGroup);
  AddNumber(command, "--sites", links.sites, "nodes stand in so many sites, in turn", kGroup);
  AddRate(command, "--between", links.between_per_second, "of the way out of each site")
      ->group(kGroup);
}

struct StallsText {
  double chance = 0;
  Duration longest{0};
};

Result<StallsText> ParseStalls(const std::string& text) {
  StallsText stalls;
  const auto comma = text.find(',');
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), stalls.chance);
  if (comma == std::string::npos || status != std::errc{} || end != text.data() + comma) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("'{}' says no stalls: write CHANCE,TIME as 0.05,200ms", text)));
  }
  TRY_ASSIGN(stalls.longest, ParseDuration(std::string_view(text).substr(comma + 1)));
  return stalls;
}

void AddStalls(CLI::App& command, sim::Noise& noise, Help group) {
  const auto read = [&noise](const CLI::results_t& values) {
    const auto stalls = ParseStalls(values.back());
    if (!stalls) throw CLI::ValidationError("--stalls", stalls.error().message);
    noise.stall_chance = stalls->chance;
    noise.stall = stalls->longest;
    return true;
  };
  command
      .add_option("--stalls", read,
                  "in each 100 ms a host stands still with that chance for up to that time")
      ->type_name("CHANCE,TIME")
      ->group(group);
}

void AddNoise(CLI::App& command, sim::Noise& noise) {
  constexpr Help kGroup = "Noise";
  AddDuration(command, "--late", noise.late,
              "what a node says is heard later, in order: one word in four by up to this time, the "
              "others by up to an eighth")
      ->group(kGroup);
  AddStalls(command, noise, kGroup);
  AddSize(command, "--bursts", noise.burst_bytes,
          "an idle link carries so many bytes at once, as a token bucket")
      ->group(kGroup);
  command
      .add_option("--unfair", noise.unfair,
                  "streams share a link by weights of 1 to this factor, anew each 200 ms")
      ->type_name("FACTOR")
      ->group(kGroup)
      ->capture_default_str();
  AddDuration(
      command, "--begins", noise.begins,
      "a stream grows from a tenth of its share to all of it in this time, again after each "
      "pause of 200 ms")
      ->group(kGroup);
}

void AddPlan(CLI::App& command, sim::Options& world) {
  command.add_option("--stripes", world.stripes, "0: what the size asks for")
      ->capture_default_str();
  command
      .add_option("--forest-from", world.forest_from,
                  "so many who wait get a forest, whatever the links are like; 0: if that pays")
      ->type_name("N")
      ->capture_default_str();
  AddSize(command, "--inline-limit", world.inline_limit_bytes,
          "objects up to this size travel through the directory");
  command.add_flag("--full-link", world.full_link,
                   "of which the directory's link carries one at a time");
  AddSize(command, "--room", world.room_bytes, "that a node holds while it asks");
}

// "rates, relays, …"
std::string NamesOfParts() {
  std::vector<std::string_view> names;
  for (const auto& [name, member] : planner::Without::Names()) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void AddWithout(CLI::App& command, planner::Without& without) {
  const auto read = [&without](const CLI::results_t& names) {
    for (const std::string& name : names) {
      const auto all = planner::Without::Names();
      const std::map parts(all.begin(), all.end());
      const auto part = parts.find(name);
      if (part == parts.end()) {
        const std::string why = fmt::format("'{}' is no part: {}", name, NamesOfParts());
        throw CLI::ValidationError("--without", why);
      }
      without.*part->second = true;
    }
    return true;
  };
  command
      .add_option("--without", read,
                  "parts of the planner that are off: " + NamesOfParts() +
                      " (rates: they count where sites differ only)")
      ->type_name("NAME[,NAME]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->expected(1, 1 << 10);
}

// What every collective is simulated with.
void AddLinks(CLI::App& command, SimArguments& options) {
  sim::Options& world = options.world;
  command.add_option("--nodes", world.nodes, "how many")->type_name("N")->required();
  AddSize(command, "--size", world.size_bytes, "of the object")->required();
  AddRate(command, "--bandwidth", world.bytes_per_second, "of each link, as 10gbit")->required();
  AddDuration(command, "--latency", world.latency, "of each link, as 100us")->required();
  command.add_flag("--unmeasured", world.unmeasured,
                   "shards know nothing of the links before the first reports");
  AddWithout(command, world.without);
  command.add_option("--seed", world.seed, "the same seed gives the same history")
      ->capture_default_str();
  AddJson(command, options.json);
}

std::shared_ptr<SimArguments> AddWorld(CLI::App& command, Action& chosen) {
  const auto options = std::make_shared<SimArguments>();
  AddLinks(command, *options);
  AddPlan(command, options->world);
  AddFaults(command, options->world);
  AddUnequalLinks(command, options->world.links);
  AddNoise(command, options->world.noise);
  command.callback([&chosen, options] { chosen = [options] { return RunSim(*options); }; });
  return options;
}

void AddBroadcast(CLI::App& sim, Action& chosen) {
  CLI::App* command = sim.add_subcommand("broadcast", "one object from one node to all others");
  command->footer("\nThe report's lines:\n" + std::string(sim::Legend()));
  sim::Options& world = AddWorld(*command, chosen)->world;
  AddDuration(*command, "--apart", world.apart,
              "receivers ask in the order of their numbers, so far apart");
  AddDuration(*command, "--spread", world.spread,
              "receivers ask at random moments within this time")
      ->group("Faults");
  AddNumber(
      *command, "--rounds", world.rounds,
      "so often it is put and read, one after another; the other figures are of the last time");
  AddDuration(*command, "--put-time", world.put_time,
              "how long the producer takes to fill its copy")
      ->group("Faults");
  AddNumber(*command, "--reputs", world.reputs, "times that other bytes are put under the same id",
            "Faults");
  AddNumber(*command, "--deletes", world.deletes, "Deletes at random moments", "Faults");
  AddNumber(*command, "--cancels", world.cancels, "Gets that are given up at random moments",
            "Faults");
  AddNumber(*command, "--evictions", world.evictions, "relayed copies that a node wants to drop",
            "Faults");
  AddNumber(*command, "--joins", world.joins, "nodes that begin to fetch other objects, too",
            "Faults");
  AddNumber(*command, "--subscriptions", world.subscriptions,
            "nodes that follow where the object is", "Faults");
}

void AddReduce(CLI::App& sim, Action& chosen, bool everyone_gets) {
  CLI::App* command =
      everyone_gets ? sim.add_subcommand("allreduce", "one object of many, and everyone gets it")
                    : sim.add_subcommand("reduce", "one object of many, folded in a tree");
  command->footer("\nThe report's lines:\n" + std::string(sim::ReductionLegend()));
  sim::Options& world = AddWorld(*command, chosen)->world;
  sim::ReduceJob& job = world.reduce.emplace();
  job.everyone_gets = everyone_gets;
  AddDuration(*command, "--spread", world.spread,
              "sources arrive at random moments within this time");
  command->add_flag("--staggered", job.staggered, "they arrive in order, evenly spaced");
  AddDuration(*command, "--straggler", job.straggler, "the last one arrives so much later");
  AddNumber(*command, "--poor-nodes", job.poor_nodes,
            "the last so many have no memory for partial results");
  if (everyone_gets) {
    AddDuration(*command, "--get-spread", job.get_spread,
                "nodes ask for the sum at random moments within this time");
  }
  command->add_flag("--everyone-reads", job.everyone_reads,
                    "the reduction knows that all read the sum, and may make it by stripes");
  command->add_flag("--two-trees", job.two_trees,
                    "by stripes it is made in two trees, whether that pays or not");
  AddNumber(*command, "--sources", job.sources, "one after the other on each node; 0: one on each");
  AddNumber(*command, "--num-objects", job.num_objects, "the first so many are used; 0: all");
  AddNumber(*command, "--degree", job.degree, "of the tree; 0: what the planner chooses");
  command->add_flag("--fixed-order", job.fixed_order, "fold in the order of the sources");
  command->add_flag("--root-here", job.root_here, "the target is made on the first node");
  command->add_flag("--kill-coordinator", job.kill_coordinator, "the first node dies")
      ->group("Faults");
  AddDuration(*command, "--put-again", job.put_again,
              "sources of the dead are put by others after this; 0: never")
      ->group("Faults");
}

Result<void> RunAllgather(const SimArguments& options) {
  TRY_ASSIGN(const sim::AllgatherReport report, sim::RunAllgather(options.world));
  if (options.json) {
    TRY(Print(sim::ToJson(report) + '\n'));
  } else {
    TRY(Print(fmt::format("{}\n{}", sim::ToText(report), sim::AllgatherLegend())));
  }
  return Judge(report.violation, report.replay);
}

void AddAllgather(CLI::App& sim, Action& chosen) {
  CLI::App* command =
      sim.add_subcommand("allgather", "one object on each node, and every node gets all");
  command->footer("\nThe report's lines:\n" + std::string(sim::AllgatherLegend()));
  const auto options = std::make_shared<SimArguments>();
  AddLinks(*command, *options);
  AddDuration(*command, "--spread", options->world.spread,
              "nodes ask for each object at random moments within this time");
  AddUnequalLinks(*command, options->world.links);
  AddNoise(*command, options->world.noise);
  command->callback([&chosen, options] { chosen = [options] { return RunAllgather(*options); }; });
}

}  // namespace

void AddSim(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("sim", "runs the planner over a simulated network");
  AddBroadcast(*command, chosen);
  AddReduce(*command, chosen, false);
  AddReduce(*command, chosen, true);
  AddAllgather(*command, chosen);
  AddSimWorld(*command, chosen);
}

}  // namespace hoplite::cli
