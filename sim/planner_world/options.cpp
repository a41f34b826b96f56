#include "sim/planner_world/options.h"

#include <algorithm>

#include <fmt/format.h>

#include <hoplite/reduce.h>

#include "base/layout.h"
#include "base/try.h"
#include "sim/planner_world/network.h"

namespace hoplite::sim {
namespace {

constexpr std::uint32_t kMaxNodes = 1'000'000;
constexpr std::uint32_t kMaxRounds = 1'000;
constexpr std::uint32_t kMostUnfairNodes = 256;

Result<void> Bad(std::string_view what) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("simulation: {}", what)));
}

template <typename T>
void AddFlag(std::string& command, std::string_view flag, const T& value, const T& unset) {
  if (value != unset) command += fmt::format(" --{} {}", flag, value);
}

void AddFlag(std::string& command, std::string_view flag, Duration value, Duration unset) {
  if (value != unset) command += fmt::format(" --{} {}ns", flag, value.count());
}

Result<void> ValidateReduce(const Options& options) {
  const ReduceJob& job = *options.reduce;
  const std::uint32_t sources = job.sources == 0 ? options.nodes : job.sources;
  if (options.size_bytes % 4 != 0) return Bad("size must be a multiple of 4, for a float32");
  if (sources > kMaxReduceSources) {
    return Bad(fmt::format("sources must be at most {}", kMaxReduceSources));
  }
  if (job.num_objects > sources) return Bad("num-objects must be at most the sources");
  if (job.fixed_order && (job.num_objects != 0 && job.num_objects < sources)) {
    return Bad("a fixed order needs all sources");
  }
  if (job.fixed_order && job.degree > 1) return Bad("a fixed order folds along a line");
  if (job.straggler.count() < 0 || job.get_spread.count() < 0) {
    return Bad("a time must not be negative");
  }
  if (job.get_spread.count() > 0 && !job.everyone_gets) {
    return Bad("get-spread belongs to allreduces");
  }
  if (options.put_time.count() > 0 || options.reputs > 0 || options.deletes > 0) {
    return Bad("put-time, reputs and deletes belong to broadcasts");
  }
  return {};
}

Result<void> ValidateLinks(const Options& options) {
  const UnequalLinks& links = options.links;
  if (links.sites < 1 || links.sites > Network::kMostSites) return Bad("sites must be in [1, 64]");
  const auto fits = [&](std::uint64_t rate) {
    return rate > 0 && rate <= options.bytes_per_second;
  };
  if (!std::ranges::all_of(links.bytes_per_second, fits)) {
    return Bad("each of the rates must be above 0 and at most the bandwidth");
  }
  for (const RateChange& change : links.changes) {
    if (change.node >= options.nodes) return Bad(fmt::format("there is no node {}", change.node));
    if (!fits(change.bytes_per_second)) return Bad("a rate must be at most the bandwidth");
  }
  return {};
}

}  // namespace

Result<void> Options::Validate() const {
  if (nodes < 2 || nodes > kMaxNodes) return Bad("nodes must be in [2, 1000000]");
  if (bytes_per_second == 0) return Bad("bandwidth must not be 0");
  if (latency.count() <= 0) return Bad("latency must be positive");
  if (spread.count() < 0 || put_time.count() < 0 || recovery_window.count() < 0 ||
      grace.count() < 0) {
    return Bad("a time must not be negative");
  }
  if (rounds == 0 || rounds > kMaxRounds) return Bad("rounds must be in [1, 1000]");
  if (kills >= nodes) return Bad("kills must be fewer than the receivers");
  if (slow_nodes > (nodes - 1) / 2) return Bad("slow-nodes must be at most half of the receivers");
  for (const Kill& kill : kill_at) {
    if (kill.node >= nodes) return Bad(fmt::format("there is no node {} to kill", kill.node));
  }
  for (const CutPair& pair : cut_pairs) {
    const bool two = pair.one < nodes && pair.other < nodes && pair.one != pair.other;
    if (!two) return Bad(fmt::format("there are no two nodes {} and {}", pair.one, pair.other));
  }
  if (stripes > kMaxStripes) return Bad("stripes must be at most 64");
  if (size_bytes == 0) return Bad("size must not be 0");
  if (apart.count() < 0) return Bad("a time must not be negative");
  TRY(ValidateLinks(*this));
  if (!noise.Wrong().empty()) return Bad(noise.Wrong());
  if (noise.unfair > 1 && nodes > kMostUnfairNodes) {
    return Bad("unfair needs nodes of at most 256: more unequal shares take minutes to compute");
  }
  if (reduce) TRY(ValidateReduce(*this));
  return Layout::For(size_bytes, stripes).Validate();
}

void AddWithout(std::string& command, const planner::Without& without) {
  if (const std::string names = without.ToString(); !names.empty()) {
    command += " --without " + names;
  }
}

void AddLinks(std::string& command, const UnequalLinks& links) {
  for (const std::uint64_t rate : links.bytes_per_second) {
    command += fmt::format(" --rate {}bit", rate * 8);
  }
  for (const RateChange& change : links.changes) {
    command += fmt::format(" --change-rate {}@{}ns={}bit", change.node, change.at.count(),
                           change.bytes_per_second * 8);
  }
  AddFlag(command, "sites", links.sites, 1U);
  if (links.between_per_second > 0) {
    command += fmt::format(" --between {}bit", links.between_per_second * 8);
  }
}

std::string ReplayCommand(const Options& options) {
  const Options unset;
  std::string command =
      fmt::format("hoplite sim {} --nodes {} --size {} --bandwidth {}bit --latency {}ns --seed {}",
                  !options.reduce                 ? "broadcast"
                  : options.reduce->everyone_gets ? "allreduce"
                                                  : "reduce",
                  options.nodes, options.size_bytes, options.bytes_per_second * 8,
                  options.latency.count(), options.seed);
  AddLinks(command, options.links);
  AddNoise(command, options.noise);
  AddFlag(command, "apart", options.apart, unset.apart);
  AddFlag(command, "spread", options.spread, unset.spread);
  AddFlag(command, "put-time", options.put_time, unset.put_time);
  AddFlag(command, "rounds", options.rounds, unset.rounds);
  AddFlag(command, "kill", options.kills, unset.kills);
  for (const Kill& kill : options.kill_at) {
    command += fmt::format(" --kill-at {}@{}ns", kill.node, kill.at.count());
  }
  AddFlag(command, "restarts", options.restarts, unset.restarts);
  AddFlag(command, "slow-nodes", options.slow_nodes, unset.slow_nodes);
  AddFlag(command, "memory-waits", options.memory_waits, unset.memory_waits);
  AddFlag(command, "session-breaks", options.session_breaks, unset.session_breaks);
  AddFlag(command, "cuts", options.cuts, unset.cuts);
  for (const CutPair& pair : options.cut_pairs) {
    command += fmt::format(" --cut-pair {}:{}", pair.one, pair.other);
  }
  AddFlag(command, "reputs", options.reputs, unset.reputs);
  AddFlag(command, "deletes", options.deletes, unset.deletes);
  AddFlag(command, "cancels", options.cancels, unset.cancels);
  AddFlag(command, "evictions", options.evictions, unset.evictions);
  AddFlag(command, "joins", options.joins, unset.joins);
  AddFlag(command, "subscriptions", options.subscriptions, unset.subscriptions);
  AddWithout(command, options.without);
  if (options.unmeasured) command += " --unmeasured";
  AddFlag(command, "stripes", options.stripes, unset.stripes);
  AddFlag(command, "forest-from", options.forest_from, unset.forest_from);
  AddFlag(command, "inline-limit", options.inline_limit_bytes, unset.inline_limit_bytes);
  if (options.full_link) command += " --full-link";
  AddFlag(command, "room", options.room_bytes, unset.room_bytes);
  AddFlag(command, "recovery-window", options.recovery_window, unset.recovery_window);
  AddFlag(command, "grace", options.grace, unset.grace);
  if (!options.reduce) return command;
  const ReduceJob& job = *options.reduce;
  const ReduceJob none;
  AddFlag(command, "sources", job.sources, none.sources);
  AddFlag(command, "num-objects", job.num_objects, none.num_objects);
  AddFlag(command, "degree", job.degree, none.degree);
  AddFlag(command, "put-again", job.put_again, none.put_again);
  if (job.fixed_order) command += " --fixed-order";
  if (job.root_here) command += " --root-here";
  if (job.everyone_reads) command += " --everyone-reads";
  if (job.two_trees) command += " --two-trees";
  if (job.staggered) command += " --staggered";
  AddFlag(command, "straggler", job.straggler, none.straggler);
  AddFlag(command, "poor-nodes", job.poor_nodes, none.poor_nodes);
  AddFlag(command, "get-spread", job.get_spread, none.get_spread);
  if (job.kill_coordinator) command += " --kill-coordinator";
  return command;
}

}  // namespace hoplite::sim
