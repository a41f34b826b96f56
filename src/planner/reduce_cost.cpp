#include "planner/reduce_cost.h"

#include <algorithm>

#include "planner/broadcast_cost.h"

namespace hoplite::planner {
namespace {

// A reduce tree is a broadcast tree in reverse: its root is one of the positions.
std::uint64_t BelowTheRoot(std::uint32_t count) { return count == 0 ? 0 : count - 1; }

}  // namespace

double ReduceSeconds(std::uint32_t degree, std::uint32_t count, const Layout& layout,
                     const LinkModel& link) {
  const std::uint64_t below = BelowTheRoot(count);
  if (below == 0) return 0;
  return TreeSeconds(std::min<std::uint64_t>(degree, below), below, layout, link);
}

std::uint32_t BestReduceDegree(std::uint32_t count, const Layout& layout, const LinkModel& link) {
  return static_cast<std::uint32_t>(BestDegree(BelowTheRoot(count), layout, link));
}

}  // namespace hoplite::planner
