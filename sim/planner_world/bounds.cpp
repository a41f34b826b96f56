#include "sim/planner_world/bounds.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/layout.h"

namespace hoplite::sim {
namespace {

// Edges from the root to the deepest node of a full tree.
std::uint32_t Height(std::uint32_t nodes, std::uint32_t degree) {
  std::uint32_t height = 0;
  for (std::uint64_t level = 1, reached = 1; reached < nodes; ++height) {
    level *= degree;
    reached += level;
  }
  return height;
}

}  // namespace

double BoundSeconds(std::uint64_t size_bytes, const Link& link) {
  return static_cast<double>(size_bytes) / link.bytes_per_second + ToSeconds(link.latency);
}

double TreeSeconds(std::uint32_t nodes, std::uint64_t size_bytes, const Link& link,
                   std::uint32_t degree) {
  const std::uint64_t block =
      std::min<std::uint64_t>(Layout::For(size_bytes).block_bytes, size_bytes);
  const double block_time = degree * static_cast<double>(block) / link.bytes_per_second;
  const double rest_time = degree * static_cast<double>(size_bytes - block) / link.bytes_per_second;
  return Height(nodes, degree) * (ToSeconds(link.latency) + block_time) + rest_time;
}

Tree BestTree(std::uint32_t nodes, std::uint64_t size_bytes, const Link& link) {
  // More than 256 children pay only in a star, which is tried on its own.
  constexpr std::uint32_t kLastDegree = 256;
  const std::uint32_t star = std::max(nodes, 2u) - 1;
  Tree best{star, TreeSeconds(nodes, size_bytes, link, star)};
  for (std::uint32_t degree = 2; degree <= std::min(star, kLastDegree); ++degree) {
    const double seconds = TreeSeconds(nodes, size_bytes, link, degree);
    if (seconds < best.seconds) best = {degree, seconds};
  }
  return best;
}

double CutSeconds(const Options& options, double plain) {
  constexpr double kSecondsOfPauses =
      20;  // the longest cut, and the pauses of shard and coordinator
  return static_cast<double>(options.cuts + options.cut_pairs.size()) *
         (kSecondsOfPauses + 4 * plain);
}

double NoiseSeconds(const Options& options) {
  constexpr double kStepsInARow = 8;
  const Noise& noise = options.noise;
  return kStepsInARow * ToSeconds(noise.late + noise.stall) +
         options.nodes * ToSeconds(noise.begins);
}

// A line of nodes stands still while any of them does: ten times a second one may, for half the
// longest time on average.
double NoiseFactor(const Options& options) {
  const Noise& noise = options.noise;
  const double still = 10 * noise.stall_chance * ToSeconds(noise.stall) / 2;
  return (1 + options.nodes * still) * (1 + noise.unfair) / 2;
}

std::uint64_t SlowestLink(const Options& options) {
  const UnequalLinks& links = options.links;
  std::uint64_t slowest = options.bytes_per_second;
  for (const std::uint64_t rate : links.bytes_per_second) slowest = std::min(slowest, rate);
  for (const RateChange& change : links.changes) {
    slowest = std::min(slowest, change.bytes_per_second);
  }
  if (links.between_per_second > 0) slowest = std::min(slowest, links.between_per_second);
  return slowest;
}

std::string TooSlow(const Options& options, double seconds) {
  const Link link{options.latency, static_cast<double>(SlowestLink(options))};
  const double line = TreeSeconds(options.nodes, options.size_bytes, link, 1);
  const double plain = NoiseFactor(options) *
                       std::min(line, BestTree(options.nodes, options.size_bytes, link).seconds);
  const double messages = 40 * ToSeconds(options.latency);
  const double moments = ToSeconds(options.spread) + options.nodes * ToSeconds(options.apart) +
                         ToSeconds(options.put_time);
  // A fault may cost the time to notice it and one more transfer; a restart also costs the
  // collection.
  const double fault = ToSeconds(options.grace) + 1 + 2 * plain + messages;
  const double restart = fault + ToSeconds(options.recovery_window) + 1;
  const auto faults = static_cast<double>(
      options.kills + options.kill_at.size() + options.memory_waits + options.session_breaks +
      options.cancels + options.evictions + 2 * std::size_t{options.reputs});
  const double slow = options.slow_nodes > 0 ? 10 * plain : 0;
  const double allowed = 2 * plain + slow + messages + moments + faults * fault +
                         options.restarts * restart + CutSeconds(options, plain) +
                         NoiseSeconds(options);
  if (seconds <= allowed) return {};
  return fmt::format("P11: took {:.6f} s where {:.6f} s are allowed", seconds, allowed);
}

}  // namespace hoplite::sim
