// SlotTree: the slots of one reduction as their shard knows them: who feeds whom, which source is
// folded where, and what became of each slot.
//
// Per stripe it is a tree with one root. Usually that is the same tree for all stripes; in a striped
// reduction (R64) each stripe has a root of its own, a slot feeds several others, each in some
// stripes, and the slots form a circle, but no stripe does.
//
// Decides: whether a slot, or a whole plan, fits; which sources count, and whose sums a slot is a
// part of. Is told: one order after the other, or a plan. Must never: take a second root of a
// stripe, a circle, or a source twice in one stripe or not in all of them; or let what a slot says
// of its parents and what they say of their children disagree. A value type; a walk costs the
// height of the tree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/small_set.h"
#include "planner/words/words.h"

namespace hoplite::planner {

struct SlotFault {
  ErrorCode code = ErrorCode::kPeerLost;
  std::string message;
  NodeId receiver = kNoNode;  // that could not connect to the slot's node (R68)
};

struct SlotRecord {
  SlotOrder order;
  std::uint64_t attempt = 0;
  Version version;                // none: vacant
  StripeMask drained = 0;         // of its output: what the slots that fold it have wholly
  bool asked = false;             // of a root: it has folded everything, and wants to commit
  StripeMarks marks;              // of its output, as last told
  std::optional<SlotFault> lost;  // the coordinator was told that it has to be assigned again

  bool all_drained() const { return drained == order.stripes; }
};

class SlotTree {
 public:
  SlotTree() = default;
  // `stripes`: those of the target.
  explicit SlotTree(StripeMask stripes) : stripes_(stripes) {}
  // With exactly these slots, or why no reduction can have them. Parents may be missing: they are
  // placed later.
  static Result<SlotTree> Of(StripeMask stripes, const std::vector<PlannedOrder>& plan);

  // Empty, or why the slot does not fit beside the others of a tree: what walks up must come to an
  // end at one root. Slots of several roots have their place in a plan.
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
  // Those that were placed: one of all stripes, or each of some of its own.
  const std::set<std::uint32_t>& roots() const { return ChildrenOf(0); }
  // Null, or the root that the node executes.
  SlotRecord* RootAt(NodeId node);
  // Somebody makes the target already.
  bool HasRootVersion() const;
  // The target has, or had when it was committed, several roots.
  bool striped() const { return striped_; }
  // Those that were placed, also while their parent was not.
  const std::set<std::uint32_t>& ChildrenOf(std::uint32_t slot) const;
  // All above a slot, each once, up to the roots, or up to below those that were not placed yet.
  std::vector<std::uint32_t> Ancestors(std::uint32_t slot) const;
  // The sources of all slots, each once.
  std::vector<ObjectId> Inputs() const;
  // The last slot that the node was to execute; 0: none. It says where the node stands among those
  // who read the target (Copy::slot), and with several roots all stand equal, in ring order: 1.
  std::uint32_t SlotOf(NodeId node) const;

  // Empty, or the first invariant that does not hold; `target`: the version that the roots make.
  std::string BrokenInvariant(Version target) const;

 private:
  // Each of these: empty, or what is wrong. Of a slot beside the others, circles aside:
  std::string Misfit(const SlotOrder& order) const;
  std::string WrongParents(const SlotOrder& order) const;
  // Of what it feeds, once `placed` is placed.
  std::string WrongShares(const SlotOrder& order, const SlotOrder& placed) const;
  // Of how many feed it, and those that it feeds.
  std::string WrongChildren(const SlotOrder& order) const;
  // Of all slots together.
  std::string WrongPlan() const;
  std::string LackingChildren() const;
  std::string WrongRoots() const;
  std::string WrongWalks() const;
  std::string WrongSources() const;
  // Whether a walk up from the slot, which was not placed yet, comes by it again.
  bool FeedsItself(const SlotOrder& order) const;
  // What each slot makes that ends at a root, or at one that was not placed yet.
  std::map<std::uint32_t, StripeMask> Ending() const;
  // The stripes of the slot that nobody who was placed folds.
  StripeMask Unfed(const SlotOrder& order) const;
  bool Folds(std::uint32_t slot, const ObjectId& source) const;
  std::string BrokenSlot(std::uint32_t slot, const SlotRecord& known, Version target) const;

  StripeMask stripes_ = 1;
  std::map<std::uint32_t, SlotRecord> slots_;
  std::map<std::uint32_t, std::set<std::uint32_t>> children_;  // of `slots_`, by parent
  std::map<ObjectId, SmallSet<std::uint32_t>> folded_at_;      // the slots whose orders name it
  std::map<NodeId, std::uint32_t> slot_of_;
  bool striped_ = false;
};

}  // namespace hoplite::planner
