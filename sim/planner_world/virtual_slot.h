// VirtualSlot: one slot of a reduction as a participant of a simulated world executes it: the real
// planner::SlotState decides, and here is what its bytes are made of.
//
// Decides nothing but whether what it contains may be final. Is told: the node's sources, outputs
// of children that were pulled and folded. Must never: move bytes or know the time (the world
// does). A value type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "planner/node/slot_state.h"
#include "sim/planner_world/network.h"

namespace hoplite::sim {

// What a source contributes. The sum of all contributions tells whether each counts once: two
// different sums of these random numbers don't meet by chance.
using Payload = std::uint64_t;
Payload PayloadOf(const ObjectId& source);

struct VirtualSlot {
  VirtualSlot(const protocol::SlotAssigned& order, const std::string& node_name, Time now);

  planner::SlotState state;
  std::vector<Payload> sums;   // of what was folded whole, by stripe
  std::set<Version> contains;  // outputs of children that were folded, also in part

  // Of a world with a network.
  std::optional<NodeIndex> output;            // the copy that is served
  std::map<std::uint32_t, NodeIndex> inputs;  // by child: the copy that receives its output
  StripeMask folded = 0;                      // stripes of the output whose inputs are whole
  Time looks_at = kNever;                     // again

  StripeMask makes() const { return state.order().order.stripes; }
  // It makes the target, or a part of it.
  bool makes_a_part() const { return state.root() && makes() != all_stripes(); }

  // These sources are whole at its node.
  void LookAtSources(const std::map<ObjectId, Version>& here, Time now,
                     planner::SlotState::Effects& effects);
  // P3: bytes of an attempt that was replaced are in it.
  std::string BrokenContents() const;
  // Of what a small world lets happen: no copies of a network.
  void AddTo(Digest& digest) const;

 private:
  StripeMask all_stripes() const { return state.order().layout.all_stripes(); }
};

}  // namespace hoplite::sim
