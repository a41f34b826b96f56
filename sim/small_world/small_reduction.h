// SmallReduction: what the small world keeps of the reduction that makes its object: the
// coordinator, and how far parents have folded their children's outputs. A value type.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/digest.h"
#include "planner/reduce/reduce_coordinator.h"
#include "sim/planner_world/reduce_witness.h"

namespace hoplite::sim {

// Longer than anybody's patience.
inline constexpr Duration kMuchLater = std::chrono::hours(1);

// A slot pulls the output of a child, until it is drained or reported as lost.
struct FoldStream {
  std::uint32_t node = 0;  // where that slot is executed
  protocol::SlotFeed feed;
  StripeMarks blocks;  // folded
};

struct SmallReduction {
  static constexpr std::uint64_t kRequest = 1;

  ReduceOptions options;
  std::uint32_t node = 0;  // whose client asked for it
  planner::ReduceCoordinator coordinator;
  // A digest of all that the coordinator was told, and when: it has no fingerprint of its own.
  Digest history;
  ReduceWitness witness;
  std::vector<FoldStream> streams;
  // Versions of the target that several roots make: they are final with the commit only.
  std::set<Version> made_in_parts;
  Time drive_at = kNever;
  bool ended = false;

  void AddTo(Digest& digest) const;
};

}  // namespace hoplite::sim
