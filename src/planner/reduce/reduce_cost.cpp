#include "planner/reduce/reduce_cost.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "planner/copies/broadcast_cost.h"

namespace hoplite::planner {
namespace {

constexpr double kLeastHops = 2;  // that a member's share takes
constexpr std::uint64_t kTrees = 2;
constexpr double kWaitShare = 0.05;
constexpr int kMostWaits = 3;
constexpr Duration kLongestWait = std::chrono::milliseconds(100);

double SlotSeconds(const Layout& layout, const LinkModel& link) {
  return static_cast<double>(layout.size_bytes) / link.bytes_per_second;
}

// A reduce tree is a broadcast tree in reverse: its root is one of the slots.
std::uint64_t BelowTheRoot(std::uint32_t count) { return count == 0 ? 0 : count - 1; }

}  // namespace

double ReduceSeconds(std::uint32_t degree, std::uint32_t count, const Layout& layout,
                     const LinkModel& link) {
  const std::uint64_t below = BelowTheRoot(count);
  if (below == 0) return 0;
  return TreeSeconds(std::min<std::uint64_t>(degree, below), below, layout, link);
}

bool RingPays(std::size_t members, const Layout& layout, const LinkModel& link) {
  const double share = SlotSeconds(layout, link) / static_cast<double>(members);
  return share >= kLeastHops * HopSeconds(1, layout, link);
}

bool TwoTreesPay(std::size_t members, const Layout& layout, const LinkModel& link) {
  const auto count = static_cast<std::uint32_t>(members);
  const double one = ReduceSeconds(BestReduceDegree(count, layout, link), count, layout, link);
  return ForestSeconds(kTrees, BelowTheRoot(count), layout, link) < one;
}

RingWaits RingWaitsFor(const Layout& layout, const LinkModel& link) {
  const double all = SlotSeconds(layout, SlowIfGuessed(link, link.guessed));
  const Duration share = std::min(kLongestWait, FromSeconds(kWaitShare * all));
  const Duration wait = std::max(link.latency + link.overhead, share);
  return {wait, std::max(wait, std::min(kLongestWait, kMostWaits * wait))};
}

// Of the degrees whose trees are equally high the smallest is the best one, so few are compared:
// the line, and the smallest of each height from a binary tree's down to a star's.
std::uint32_t BestReduceDegree(std::uint32_t count, const Layout& layout, const LinkModel& link) {
  const std::uint64_t below = BelowTheRoot(count);
  std::pair best(ReduceSeconds(1, count, layout, link), std::uint32_t{1});
  for (std::uint64_t degree = 2; degree <= below;) {
    const auto candidate = static_cast<std::uint32_t>(degree);
    best = std::min(best, std::pair(ReduceSeconds(candidate, count, layout, link), candidate));
    const std::uint64_t height = TreeHeight(degree, below);
    if (height == 1) break;
    const auto lower = std::views::iota(degree, below + 1);
    degree = *std::ranges::partition_point(
        lower, [&](std::uint64_t wider) { return TreeHeight(wider, below) >= height; });
  }
  return best.second;
}

}  // namespace hoplite::planner
