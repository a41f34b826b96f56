// SlotTree: the slots of one reduction as their shard knows them: who feeds whom, which source is
// folded where, and what became of each slot.
//
// Decides: whether a slot fits into the tree, which sources count, and whose sums a slot is a part
// of. Is told: one order after the other. Must never: take a second root or a circle, or let what a
// slot says of its parent and what the parent says of its children disagree. A value type; a walk
// costs the height of the tree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/layout.h"
#include "planner/words.h"

namespace hoplite::planner {

struct SlotFault {
  ErrorCode code = ErrorCode::kPeerLost;
  std::string message;
};

struct SlotRecord {
  SlotOrder order;
  std::uint64_t attempt = 0;
  Version version;                // none: vacant
  bool drained = false;           // its parent has its whole output
  StripeMarks marks;              // of its output, as last told
  std::optional<SlotFault> lost;  // the coordinator was told that it has to be assigned again
};

class SlotTree {
 public:
  // Empty, or why no tree can have such a slot: what walks up must come to an end at one root.
  std::string WrongWith(const SlotOrder& order) const;
  // Empty, or which source would count twice.
  std::string TwiceIn(const SlotOrder& order) const;
  // From now on the slot is what the order says, which is not wrong; nothing of it is made yet.
  void Place(const SlotOrder& order, std::uint64_t attempt);
  // It is committed: nobody executes anything any more.
  void Clear();

  const std::map<std::uint32_t, SlotRecord>& slots() const { return slots_; }
  // Null: it was never placed. Whoever finds one may change everything but its order.
  SlotRecord* Find(std::uint32_t slot);
  const SlotRecord* Find(std::uint32_t slot) const;
  // Null: it was not placed yet.
  const SlotRecord* Root() const;
  // Somebody makes the target already.
  bool HasRootVersion() const { return Root() != nullptr && Root()->version; }
  // Those that were placed, also while their parent was not.
  const std::set<std::uint32_t>& ChildrenOf(std::uint32_t slot) const;
  // Above a slot, up to the root, or up to below one that was not placed yet.
  std::vector<std::uint32_t> Ancestors(std::uint32_t slot) const;
  // The sources of all slots.
  std::vector<ObjectId> Inputs() const;
  // The last slot that the node was to execute; 0: none.
  std::uint32_t SlotOf(NodeId node) const;

  // Empty, or the first invariant that does not hold; `target`: the version that the root makes.
  std::string BrokenInvariant(Version target) const;

 private:
  bool Folds(std::uint32_t slot, const ObjectId& source) const;
  std::string BrokenSlot(std::uint32_t slot, const SlotRecord& known, Version target) const;

  std::map<std::uint32_t, SlotRecord> slots_;
  std::map<std::uint32_t, std::set<std::uint32_t>> children_;  // of `slots_`, by parent
  std::map<ObjectId, std::uint32_t> folded_at_;  // the slot that last was to fold this source
  std::map<NodeId, std::uint32_t> slot_of_;
};

}  // namespace hoplite::planner
