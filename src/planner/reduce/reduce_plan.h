// ReducePlan: the slots of one plan of a reduction, and what was decided with them. A plain value,
// filled by ReducePlacement; what ends it is ReducePlanner's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "planner/reduce/planned_slots.h"
#include "planner/reduce/reduce_sources.h"

namespace hoplite::planner {

// Picks that one node folds before anything leaves it.
struct ReduceMember {
  NodeId node = kNoNode;
  std::vector<SourceIndex> picks;
};

// Of a reduction by stripes: stripe_ring.h, two_trees.h.
enum class StripeShape : std::uint8_t { kRing, kTwoTrees };
// For simulations: which of them a plan may be; kTwoTrees: also where that does not pay; kTree: neither.
enum class StripePlans : std::uint8_t { kWhatPays, kTwoTrees, kNoRing, kNoTwoTrees, kTree };

struct ReducePlan {
  struct ByStripes {
    StripeShape shape = StripeShape::kRing;
    std::uint32_t members = 0;
  };

  PlannedSlots slots;
  std::optional<ByStripes> by_stripes;  // none: it is a tree
  std::uint32_t root = 0;               // of a tree
  std::uint32_t pinned = 0;             // the root, if it has to be here (root_here)
  std::vector<std::uint32_t> slot_of;   // fixed_order: where each source has to go
  bool some_only_fold = false;          // what others feed them
  std::set<std::uint32_t> bridges;      // slots that only stand between two (R68)
};

}  // namespace hoplite::planner
