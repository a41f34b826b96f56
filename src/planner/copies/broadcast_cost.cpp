#include "planner/copies/broadcast_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/divide.h"

namespace hoplite::planner {
namespace {

// Of the time that the object takes over one link.
constexpr double kGatherShare = 0.02;
constexpr Duration kLongestGather = std::chrono::milliseconds(5);

// More groups gain less than 2 % up to 10,000 nodes.
constexpr std::array<std::uint64_t, 2> kForests{2, 4};
// So few receivers per group save a few hops only, and hosts that few were measured as they are.
constexpr std::uint64_t kLeastOfGroup = 8;
// What a forest must save to be worth its streams.
constexpr double kWorthwhile = 0.95;

// Whatever is believed of links: a question that no Give answers is to be answered soon.
constexpr double kLongestGive = 1;  // seconds

// Those who are gathered stand about so many below the ones before them.
constexpr double kSpacingHops = 4;

double SendSeconds(double bytes, const LinkModel& link) { return bytes / link.bytes_per_second; }

// Into which so many receivers can be cut, each group with somebody who serves in it.
std::uint64_t MostGroups(std::uint64_t receivers, const Layout& layout) {
  std::uint64_t most = 1;
  for (const std::uint64_t groups : kForests) {
    if (layout.stripe_count % groups == 0 && receivers >= groups) most = groups;
  }
  return most;
}

double FirstBlock(const Layout& layout) {
  return static_cast<double>(std::min<std::uint64_t>(layout.block_bytes, layout.size_bytes));
}

}  // namespace

LinkModel SlowIfGuessed(LinkModel link, bool guessed) {
  if (guessed) link.bytes_per_second = std::min(link.bytes_per_second, kSlowLink);
  return link;
}

std::uint64_t TreeHeight(std::uint64_t degree, std::uint64_t receivers) {
  if (degree <= 1) return receivers;
  std::uint64_t height = 0;
  std::uint64_t level = 1;
  for (std::uint64_t covered = 0; covered < receivers; ++height) {
    level *= degree;
    covered += level;
  }
  return height;
}

double HopSeconds(std::uint64_t degree, const Layout& layout, const LinkModel& link) {
  return ToSeconds(link.latency + link.overhead) +
         SendSeconds(static_cast<double>(degree) * FirstBlock(layout), link);
}

double TreeSeconds(std::uint64_t degree, std::uint64_t receivers, const Layout& layout,
                   const LinkModel& link) {
  const double rest = static_cast<double>(layout.size_bytes) - FirstBlock(layout);
  return static_cast<double>(TreeHeight(degree, receivers)) * HopSeconds(degree, layout, link) +
         SendSeconds(static_cast<double>(degree) * rest, link);
}

std::uint64_t ForestDepth(std::uint64_t groups, std::uint64_t receivers) {
  const std::uint64_t inner = DivideUp(receivers, groups);
  std::uint64_t depth = inner < receivers ? 1 : 0;
  std::uint64_t level = 1;
  for (std::uint64_t covered = 0; covered < inner; ++depth) {
    covered += level;
    level *= groups;
  }
  return depth;
}

double ForestSeconds(std::uint64_t groups, std::uint64_t receivers, const Layout& layout,
                     const LinkModel& link) {
  const double first = static_cast<double>(groups) * FirstBlock(layout);
  const double rest = std::max(static_cast<double>(layout.size_bytes) - first, 0.0);
  return static_cast<double>(ForestDepth(groups, receivers)) * HopSeconds(groups, layout, link) +
         SendSeconds(rest, link);
}

Duration GatherFor(const Layout& layout, const LinkModel& link) {
  const double all = SendSeconds(static_cast<double>(layout.size_bytes), link);
  const Duration wait = std::min(kLongestGather, FromSeconds(kGatherShare * all));
  return wait < link.latency ? Duration{0} : wait;
}

Duration SpacePasses(const Layout& layout, const LinkModel& link) {
  const double hops = kSpacingHops * HopSeconds(kForests.back(), layout, link);
  return std::min(kLongestGather, std::max(GatherFor(layout, link), FromSeconds(hops)));
}

Duration FreshFor(const Layout& layout, const LinkModel& link) {
  const double all = SendSeconds(static_cast<double>(layout.size_bytes), link);
  return std::min(kLongestFresh, FromSeconds(all));
}

Duration PatienceOfGive(std::uint64_t bytes, std::uint64_t receivers, const LinkModel& link) {
  const LinkModel slow = SlowIfGuessed(link, link.guessed);
  const double hop = ToSeconds(slow.latency) + SendSeconds(static_cast<double>(bytes), slow);
  const double hops = static_cast<double>(std::bit_width(receivers));
  return FromSeconds(std::min(4 * hops * hop, kLongestGive));
}

std::uint64_t BestDegree(std::uint64_t receivers, const Layout& layout, const LinkModel& link) {
  if (receivers <= 1) return 1;
  const std::array<std::uint64_t, 10> candidates{1, 2, 3, 4, 5, 6, 8, 12, 16, receivers};
  return *std::ranges::min_element(candidates, {}, [&](std::uint64_t degree) {
    return std::pair(TreeSeconds(degree, receivers, layout, link), degree);
  });
}

std::uint64_t BestForest(std::uint64_t receivers, const Layout& layout, const LinkModel& link,
                         std::uint64_t always_from) {
  if (always_from != 0 && receivers >= always_from) return MostGroups(receivers, layout);
  // Most objects are small, and most clusters: this is asked at every pass.
  if (layout.stripe_count < kForests.front() || receivers < kLeastOfGroup * kForests.front()) {
    return 1;
  }
  const std::uint64_t degree = BestDegree(receivers, layout, link);
  double least = kWorthwhile * TreeSeconds(degree, receivers, layout, link);
  std::uint64_t best = 1;
  for (const std::uint64_t groups : kForests) {
    // All groups have equally many stripes, so that units stand for the same everywhere.
    if (layout.stripe_count % groups != 0 || receivers < kLeastOfGroup * groups) continue;
    const double seconds = ForestSeconds(groups, receivers, layout, link);
    if (seconds >= least) continue;
    least = seconds;
    best = groups;
  }
  return best;
}

}  // namespace hoplite::planner
