// VirtualSlot: one slot of a reduction as a participant executes it, and what it is made of.
//
// Decides: when the slot is final, and whether its contents may be. Is told: its order, its
// children's ends. Must never: move bytes or know the time (the world does). A value type.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "planner/event.h"
#include "planner/reduce_action.h"
#include "sim/planner_world/network.h"

namespace hoplite::sim {

// What a source contributes. The sum of all contributions tells whether each counts once: two
// different sums of these random numbers don't meet by chance.
using Payload = std::uint64_t;
Payload PayloadOf(const ObjectId& source);

struct VirtualSlot {
  struct Child {
    planner::SlotFeed feed;
    NodeIndex copy = 0;       // receives its output
    std::uint32_t whole = 0;  // stripes
    bool drained = false;
    bool reported = false;  // as lost
    Time failing_since = kNever;
  };

  planner::SlotAssigned order;
  NodeIndex output = 0;  // the copy that is served
  std::map<std::uint32_t, Child> children;
  Payload sum = 0;             // of what was folded whole
  std::set<Version> contains;  // outputs of children that were folded, also in part
  std::uint32_t folded = 0;    // stripes of the output whose inputs are whole
  bool final = false;
  bool failed = false;

  Version version() const { return order.version; }
  bool root() const { return order.order.parent == 0; }
  // Folds the sources of its order; it has failed if one of them is not among those of its node.
  void FoldSources(const std::map<ObjectId, Version>& of_node);
  // P3: bytes of an attempt that was replaced are in it.
  std::string BrokenContents() const;
  // The events that its shard may have missed.
  std::vector<planner::NodeEvent> Inventory() const;
  void AddTo(Digest& digest) const;
};

}  // namespace hoplite::sim
