#include "planner/broadcast_cost.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hoplite::planner {
namespace {

// Of the time that the object takes over one link.
constexpr double kGatherShare = 0.02;
constexpr double kFreshShare = 0.25;
constexpr Duration kLongestGather = std::chrono::milliseconds(5);
// Less than a source holds the FETCH of one that it is not ahead of yet (R7).
constexpr Duration kLongestFresh = std::chrono::milliseconds(80);

double SendSeconds(double bytes, const LinkModel& link) { return bytes / link.bytes_per_second; }

double FirstBlock(const Layout& layout) {
  return static_cast<double>(std::min<std::uint64_t>(layout.block_bytes, layout.size_bytes));
}

}  // namespace

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

Duration GatherFor(const Layout& layout, const LinkModel& link) {
  const double all = SendSeconds(static_cast<double>(layout.size_bytes), link);
  const Duration wait = std::min(kLongestGather, FromSeconds(kGatherShare * all));
  return wait < link.latency ? Duration{0} : wait;
}

Duration FreshFor(const Layout& layout, const LinkModel& link) {
  const double all = SendSeconds(static_cast<double>(layout.size_bytes), link);
  return std::min(kLongestFresh, FromSeconds(kFreshShare * all));
}

std::uint64_t BestDegree(std::uint64_t receivers, const Layout& layout, const LinkModel& link) {
  if (receivers <= 1) return 1;
  const std::array<std::uint64_t, 10> candidates{1, 2, 3, 4, 5, 6, 8, 12, 16, receivers};
  return *std::ranges::min_element(candidates, {}, [&](std::uint64_t degree) {
    return std::pair(TreeSeconds(degree, receivers, layout, link), degree);
  });
}

}  // namespace hoplite::planner
