// ReducePlanner: which source takes which slot of one reduction; whether it is by stripes, in a ring
// (R64) or two trees (R66), or one tree, and of which degree.
// Runs at the coordinator; the target's shard numbers and passes on what it orders.
//
// Decides: the shape, and the degree of a tree, once the size is known; which sources count (the first
// k that become available, each exactly once); who executes which slot; what replaces a lost one; what
// folds the sources of a node that has no memory for it. Is told: where sources are, which slots are
// lost, what links are like. Must never: use a source twice, use more than k, or reset more of a
// tree than a lost slot (the shard resets its ancestors), unless that loses nothing.
//
// By stripes any loss ends the plan: all sources are given back, and what is left is planned anew, as
// one order. To keep what of the old plan holds no lost source is not tried: all stripes have to be of
// the same sources in the end. A tree stays a tree. This ends: the next plan is a tree once a node
// lacked memory; any other loss makes sources gone or suspect for a second, and after a number of such
// plans the next one is a tree, whatever is left.
// A value type; knows no clock, socket or random source. Ties break by the order of the sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hoplite/reduce.h>

#include "base/time.h"
#include "planner/expiring.h"
#include "planner/planned_slots.h"
#include "planner/reduce_sources.h"
#include "planner/source_kind.h"
#include "planner/words.h"

namespace hoplite::planner {

// What participants are told to compute. `options` passed CheckReduceOptions.
Fold FoldOf(const ReduceOptions& options);

// Of a reduction by stripes: stripe_ring.h, two_trees.h.
enum class StripeShape : std::uint8_t { kRing, kTwoTrees };

class ReducePlanner {
 public:
  // `options` passed CheckReduceOptions, target set; `self` is the coordinator's node. `two_trees`:
  // for simulations, what is by stripes is so in two trees, whether that pays or not.
  ReducePlanner(const ReduceOptions& options, NodeId self, std::uint64_t request,
                bool two_trees = false);

  // --- told
  void OnOpened(const LinkModel& link);
  // The node has, or will have without any source, all bytes of this version.
  void OnHolder(const ObjectId& source, NodeId node, Version version, const Layout& layout,
                const std::string& metadata, Time now);
  void OnHolderGone(const ObjectId& source, NodeId node);
  void OnDeleted(const ObjectId& source);
  // Nobody will make the source (R69).
  void OnFailed(const ObjectId& source, const Error& why);
  void OnSlotLost(const SlotLost& lost, Time now);

  // --- answers
  // Appends the orders that are due (ReduceShape once, then SlotAssigns, before them ReduceOrders for
  // a plan by stripes and whatever comes after one); returns when it wants to be asked again. Nothing
  // before OnOpened, nor after failure().
  Time Plan(Time now, std::vector<NodeEvent>& orders);
  // Everything that was ordered and still counts, for a shard that may have missed or forgotten it:
  // ReduceShape, the plan if it was said as one, each SlotAssign since.
  std::vector<NodeEvent> Orders() const;
  // "a ring, members: 4", "two trees, …", "a tree, slots: 5", "no plan": for a log.
  std::string Describe() const;
  // The reduction can't succeed any more: sources differ, too many sources deleted, …
  const std::optional<Error>& failure() const { return failure_; }
  // Whether a source with this metadata may be folded with those that are known.
  bool Fits(std::string_view metadata) const { return kind_.Fits(metadata); }
  // Known from the first source on.
  const std::optional<Layout>& layout() const { return layout_; }
  // Of the target: the options', or that of the first listed source among those that were known
  // when the shape was decided.
  const std::string& metadata() const;
  // Available sources in the order in which they became so, those in the directory too (their
  // holder is kNoNode); for small ones, which need no tree.
  std::vector<ObjectId> Available() const;
  // How many of them the directory keeps.
  std::size_t Kept() const { return sources_.Kept(); }
  // "2 of 4 sources are missing: 12ab…, 34cd…", or nothing: for the message of a deadline.
  std::string Missing() const;
  // Why the last slot was lost; empty: none was. For the same.
  const std::string& last_loss() const { return last_loss_; }

 private:
  // Picks that one node folds before anything leaves it.
  struct Group {
    NodeId node = kNoNode;
    std::vector<SourceIndex> picks;
  };

  // What a plan by stripes is made of.
  struct Stripes {
    StripeShape shape = StripeShape::kRing;
    std::vector<Group> members;
  };

  Result<void> MayFold(const ObjectId& source, std::uint64_t size_bytes) const;
  Time WhenToPlan() const;
  void PlanAnew();
  void PlanTree();
  void BuildTree(std::uint32_t count);
  void PinRoot(const std::vector<Group>& groups);
  void Fill();
  void FillFixed(SourceIndex source);
  void FillFolders();
  bool Join(SourceIndex source);
  bool JoinOneThat(SourceIndex source, bool is_fed);
  bool MayJoin(std::uint32_t slot) const;
  void FillOne(SourceIndex source);
  NodeId FolderFor(std::uint32_t slot, NodeId node) const;
  // Whoever says how the tree looks does not get what everyone reads.
  bool EveryoneReads() const;
  // By stripes.
  bool MayBeByStripes() const;
  std::optional<Stripes> ByStripes() const;
  std::optional<StripeShape> ShapeFor(std::size_t members) const;
  void PlanStripes(const Stripes& plan);
  void OnPoorMember(NodeId node);
  void EndPlan();
  std::uint32_t VacantFor(NodeId node) const;
  void Place(std::uint32_t slot, const Group& group);
  void TakePick(std::uint32_t slot, SourceIndex pick);
  void Say(bool as_one, std::vector<NodeEvent>& orders);
  std::uint32_t NextVacant() const;
  std::vector<SourceIndex> FirstReady(std::size_t count) const;
  std::vector<Group> GroupByNode(const std::vector<SourceIndex>& picks) const;
  std::vector<Group> InRingOrder(std::vector<Group> groups) const;
  NodeId NodeFor(SourceIndex source) const;
  Group PicksHere(std::size_t count) const;
  void OnPoor(std::uint32_t slot, const SlotLost& lost);
  // Who can't reach whom.
  bool OnBlocked(const SlotLost& lost);
  bool OnBridgeLost(const SlotLost& lost);
  bool Blocked(NodeId receiver, NodeId source) const {
    return blocked_.Contains({receiver, source}, now_);
  }
  bool AnyBlocked() const;
  bool MayFoldEachOther(const std::vector<Group>& members, StripeShape shape) const;
  void AvoidBlocked(std::vector<Group>& ring) const;
  void AvoidBlocked();
  void Bridge();
  std::size_t BlockedAround(std::uint32_t slot) const;
  bool IsBlockedAbove(std::uint32_t slot) const;
  bool SwapAway(std::uint32_t slot);
  NodeId ThirdBetween(NodeId receiver, NodeId source) const;
  bool IsBlockedBeside(std::uint32_t slot, NodeId node) const;
  void NoteLoss(const SlotLost& lost);
  void GiveUp(const PlannedSlot& planned, const SlotLost& lost);
  bool LacksOne(const PlannedSlot& planned) const;
  void GiveBack(SourceIndex pick);
  NodeId FirstHelper(const std::function<bool(NodeId)>& fit) const;
  NodeId NodeWithMemory() const;
  void FailIfTooFew(SourceIndex lost);
  ReduceShape ShapeOrder() const;
  SlotOrder OrderOf(const PlannedSlot& planned) const;
  ReduceOrders AsOne(std::vector<PlannedOrder> orders) const;
  SlotAssign Alone(PlannedOrder order) const;

  ReduceOptions options_;
  NodeId self_;
  std::uint64_t request_;
  bool two_trees_;
  std::size_t wanted_;  // k
  ReduceSources sources_;
  SourceKind kind_;
  std::optional<LinkModel> link_;
  std::optional<Layout> layout_;
  ObjectId sized_by_;   // whose size counts
  Time batch_since_{};  // the first source that is to be planned
  Time came_at_{};      // the last one
  std::optional<Error> failure_;
  std::map<SourceIndex, Error> failed_;  // sources, and why
  std::string last_loss_;
  std::string pair_loss_;  // the last one of two that can't connect
  Time now_{};

  bool shaped_ = false;
  std::string target_metadata_;
  // The present plan is by stripes.
  struct Present {
    StripeShape shape = StripeShape::kRing;
    std::uint32_t members = 0;
  };
  std::optional<Present> by_stripes_;
  int planned_by_stripes_ = 0;  // how often, or as often as may be
  bool planned_ = false;        // and nothing has ended it
  std::uint64_t said_as_ = 0;   // the plan's own number; 0: it is said slot by slot
  std::uint64_t said_to_ = 0;   // the last attempt that was said with it
  PlannedSlots slots_;
  std::uint32_t root_ = 0;
  std::uint32_t pinned_ = 0;                     // the root, if it has to be here (root_here)
  std::vector<std::uint32_t> slot_of_;           // fixed_order: where each source has to go
  bool some_only_fold_ = false;                  // what others feed them
  Expiring<std::pair<NodeId, NodeId>> blocked_;  // (receiver, source): it could not connect (R68)
  std::set<NodeId> thirds_;                      // members that the shard named to stand between
  std::set<std::uint32_t> bridges_;              // slots of the plan that only stand between two
  int planned_around_ = 0;          // how often a plan ended since somebody can't reach another
  std::set<NodeId> poor_;           // had no memory for a partial result
  std::optional<Time> poor_since_;  // when the first was found
  Time rests_until_{};              // before all of them are asked once more
  std::uint64_t attempts_ = 0;
};

}  // namespace hoplite::planner
