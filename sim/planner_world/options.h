// Options: one broadcast in the planner world, faults included. The same options give the same
// history, event by event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/time.h"
#include "base/units.h"
#include "planner/words/without.h"
#include "sim/planner_world/noise.h"
#include "sim/planner_world/planted_fault.h"

namespace hoplite::sim {

// A death at a chosen moment after the start. Node 0 is the producer, 1..nodes-1 ask for the
// object.
struct Kill {
  std::uint32_t node = 1;
  Duration at{0};
};

// Two that can't connect from the start to the end, both ways.
struct CutPair {
  std::uint32_t one = 0;
  std::uint32_t other = 0;
};

// A node's links carry so much from that time after the start on.
struct RateChange {
  std::uint32_t node = 1;
  Duration at{0};
  std::uint64_t bytes_per_second = 0;
};

// How links differ.
struct UnequalLinks {
  // Of node 0, 1, …; the others' are as fast as the last one. None: all are alike.
  std::vector<std::uint64_t> bytes_per_second;
  std::vector<RateChange> changes;
  std::uint32_t sites = 1;               // node i is in site i % sites
  std::uint64_t between_per_second = 0;  // bytes out of each site; 0: no limit

  bool any() const { return !bytes_per_second.empty() || !changes.empty() || sites > 1; }
};

// A reduction instead of a broadcast: node 0 asks for it, each source is put when it arrives.
struct ReduceJob {
  bool everyone_gets = false;     // allreduce: each node asks for the target at its start
  std::uint32_t sources = 0;      // on node i % nodes; 0: one on each node
  std::uint32_t num_objects = 0;  // the first so many; 0: all
  std::uint32_t degree = 0;       // 0: the planner chooses
  bool fixed_order = false;
  bool root_here = false;
  // Whoever has a source reads the target, too: the plan may be one by stripes (R64).
  bool everyone_reads = false;
  bool two_trees = false;         // and is so in two trees, whether that pays or not
  bool staggered = false;         // sources arrive in order, evenly over the spread
  Duration straggler{0};          // the last source arrives that much later than it would
  std::uint32_t poor_nodes = 0;   // the last so many have no memory for partial results
  Duration get_spread{0};         // nodes ask for the target at random moments of [0, get_spread]
  bool kill_coordinator = false;  // at a random moment
  Duration put_again{0};          // sources of the dead are put by others after this; 0: never
};

struct Options {
  std::optional<ReduceJob> reduce;
  std::uint32_t nodes = 8;  // the producer and nodes - 1 receivers
  std::uint64_t size_bytes = 16_MiB;
  std::uint64_t bytes_per_second = 1'250'000'000;     // of each up link and each down link
  Duration latency = std::chrono::microseconds(100);  // of every message and every byte
  std::uint64_t seed = 1;

  UnequalLinks links;
  Noise noise;
  Duration apart{0};   // receivers ask in the order of their numbers, so far apart
  Duration spread{0};  // receivers ask, or sources arrive, at random moments of [0, spread]
  // How long the producer takes to fill its copy; 0: it was complete before the start.
  Duration put_time{0};
  // So often, one after another, the object is deleted, put and read again; the last time counts.
  // Faults belong to the first.
  std::uint32_t rounds = 1;
  std::uint32_t kills = 0;  // receivers that die at random moments
  std::vector<Kill> kill_at;
  std::uint32_t restarts = 0;        // times that the directory loses its state, at random moments
  std::uint32_t slow_nodes = 0;      // in the middle of the receivers: their links carry a tenth
  std::uint32_t memory_waits = 0;    // receivers whose memory becomes free at a random moment only
  std::uint32_t session_breaks = 0;  // control streams that end, and come back within two graces
  // Pairs that can't connect from a random moment, or the start, on: half of them both ways, half of
  // them for at most 8 s (R68).
  std::uint32_t cuts = 0;
  std::vector<CutPair> cut_pairs;
  std::uint32_t reputs = 0;   // times that all complete copies die and a new node puts other bytes
  std::uint32_t deletes = 0;  // Deletes at random moments by random nodes
  // Gets that are given up at a random moment; every other one is repeated.
  std::uint32_t cancels = 0;
  std::uint32_t evictions = 0;      // relayed copies that a node wants to drop, at random moments
  std::uint32_t joins = 0;          // receivers that fetch others, too, from a random moment on
  std::uint32_t subscriptions = 0;  // nodes that follow the object's places from a random moment on

  planner::Without without;
  bool unmeasured = false;           // shards know nothing of the links before the first reports
  std::uint64_t room_bytes = 1_MiB;  // that a node with memory holds while it asks (R63)
  std::uint32_t stripes = 0;         // 0: what the size asks for
  std::uint32_t forest_from = 0;     // so many who wait get a forest; 0: if that pays
  std::uint64_t inline_limit_bytes = 0;  // objects up to this size travel through the directory
  bool full_link = false;                // of which the directory's carries one at a time (R83)
  Duration recovery_window = std::chrono::seconds(1);  // of a restarted directory
  Duration grace = std::chrono::seconds(1);            // from the end of a session to NodeLost
  PlantedFault fault = PlantedFault::kNone;            // a planted fault; tests only

  // The reaction to a bad value is to correct it: the message names the field.
  Result<void> Validate() const;
};

// " --without rates,forest" to such a command, if any is off.
void AddWithout(std::string& command, const planner::Without& without);

// Of the node's own links, at the start.
constexpr std::uint64_t RateOf(const Options& options, std::uint32_t node) {
  const auto& rates = options.links.bytes_per_second;
  if (rates.empty()) return options.bytes_per_second;
  return rates[std::min<std::size_t>(node, rates.size() - 1)];
}
constexpr std::uint32_t SiteOf(const Options& options, std::uint32_t node) {
  return node % options.links.sites;
}

constexpr bool IsSlow(const Options& options, std::uint32_t node) {
  return node >= options.nodes / 2 && node < options.nodes / 2 + options.slow_nodes;
}

// How many sources a reduction lists, and how many of them it folds.
constexpr std::uint32_t SourcesOf(const Options& options) {
  return options.reduce->sources == 0 ? options.nodes : options.reduce->sources;
}
constexpr std::uint32_t PicksOf(const Options& options) {
  const std::uint32_t picks = options.reduce->num_objects;
  return picks == 0 ? SourcesOf(options) : picks;
}

// The shell command that runs the same history again: `hoplite sim broadcast --nodes …`, or reduce
// or allreduce. Fields at their defaults are left out; each other field is the flag of its name
// (--memory-waits 2), times in nanoseconds, kill_at as --kill-at NODE@TIME.
std::string ReplayCommand(const Options& options);
// Their flags, as they stand in it.
void AddLinks(std::string& command, const UnequalLinks& links);

}  // namespace hoplite::sim
