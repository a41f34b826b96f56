// ReducePlanner: one reduction, from its sources to the orders that make it.
// Runs at the coordinator; the target's shard numbers and passes on what it orders.
//
// Decides: which sources count (the first k that become available, each exactly once); when there is a
// plan, and what ends it; what a lost slot tells of its sources and its node; when the reduction fails.
// Who takes which slot is ReducePlacement's. Is told: where sources are, which slots are lost, what
// links are like. Must never: use more than k sources, or reset more of a tree than a lost slot (the
// shard resets its ancestors), unless that loses nothing.
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
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/reduce.h>

#include "base/time.h"
#include "planner/reduce/reduce_peers.h"
#include "planner/reduce/reduce_placement.h"
#include "planner/reduce/reduce_plan.h"
#include "planner/reduce/reduce_sources.h"
#include "planner/reduce/source_kind.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// What participants are told to compute; of dtype 0 if that is none. `options` passed
// CheckReduceOptions.
Fold FoldOf(const ReduceOptions& options, std::optional<DType> dtype);
// What the target says of itself, if the first source says this.
std::string TargetMetadata(const Fold& fold, std::string_view asked, std::string_view first);

class ReducePlanner {
 public:
  // `options` passed CheckReduceOptions, target set; `self` is the coordinator's node.
  ReducePlanner(const ReduceOptions& options, NodeId self, std::uint64_t request,
                StripePlans allowed = StripePlans::kWhatPays);

  // --- told
  void OnOpened(const LinkModel& link);
  // The node has, or will have without any source, all bytes of this version.
  void OnHolder(const ObjectId& source, NodeId node, Version version, const Layout& layout,
                const std::string& metadata, Time now);
  void OnHolderGone(const ObjectId& source, NodeId node);
  // The node, which may be the coordinator's own, stands there.
  void OnSite(NodeId node, const std::string& site) { peers_.NoteSite(node, site); }
  void OnDeleted(const ObjectId& source);
  // Nobody will make the source (R69).
  void OnFailed(const ObjectId& source, const Error& why);
  void OnSlotLost(const SlotLost& lost, Time now);

  // --- answers
  // Appends the orders that are due (ReduceShape once, then orders: a plan by stripes, and what comes
  // in place of a plan, as one; others one by one); returns when it wants to be asked again. Nothing
  // before OnOpened, nor after failure().
  Time Plan(Time now, std::vector<NodeEvent>& orders);
  // Everything that was ordered and still counts, for a shard that may have missed or forgotten it:
  // ReduceShape, the plan if it was said as one, each order since.
  std::vector<NodeEvent> Orders() const;
  // "a ring, nodes: 4", "two trees, …", "a tree, slots: 5", "no plan": for a log.
  std::string Describe() const;
  // The reduction can't succeed any more: sources differ, too many sources deleted, …
  const std::optional<Error>& failure() const { return failure_; }
  // Whether a source with this metadata may be folded with those that are known.
  bool Fits(std::string_view metadata) const { return kind_.Fits(metadata); }
  // What is folded; its dtype is known from the first source on.
  Fold fold() const { return FoldOf(options_, kind_.dtype()); }
  // Known from the first source on.
  const std::optional<Layout>& layout() const { return layout_; }
  // Of the target: the options', or that of the first listed source among those that were known
  // when the shape was decided.
  std::string metadata() const;
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
  // --- sources
  Result<void> MayFold(const ObjectId& source, std::uint64_t size_bytes) const;
  void FailIfTooFew(SourceIndex lost);
  void GiveBack(SourceIndex pick);
  // --- a plan, and what is said of it
  // Whoever says how the tree looks does not get what everyone reads.
  bool EveryoneReads() const;
  bool MayBeByStripes() const;
  Time WhenToPlan() const;
  void PlanAnew();
  ReducePlacement Placement() {
    return {options_, self_, *layout_, *link_, sources_, peers_, plan_};
  }
  void Say(bool as_one, std::vector<NodeEvent>& orders);
  ReduceShape ShapeOrder() const;
  SlotOrder OrderOf(const PlannedSlot& planned) const;
  ReduceOrders AsOne(std::vector<PlannedOrder> orders) const;
  ReduceOrders Alone(PlannedOrder order) const;
  // --- losses (reduce_losses.cpp)
  void NoteLoss(const SlotLost& lost);
  bool OnBlocked(const SlotLost& lost);
  bool OnBridgeLost(const SlotLost& lost);
  void OnPoorMember(NodeId node);
  void OnPoor(const PlannedSlot& planned, const SlotLost& lost);
  void GiveUp(const PlannedSlot& planned, const SlotLost& lost);
  bool LacksOne(const PlannedSlot& planned) const;
  void EndPlan();

  // What loses member after member is better off with a tree, of which a loss leaves something.
  static constexpr int kMostPlansByStripes = 64;

  ReduceOptions options_;
  NodeId self_;
  std::uint64_t request_;
  StripePlans allowed_;
  std::size_t wanted_;  // k
  Time now_{};

  ReduceSources sources_;
  SourceKind kind_;
  std::optional<LinkModel> link_;
  std::optional<Layout> layout_;
  ObjectId sized_by_;   // whose size counts
  Time batch_since_{};  // the first source that is to be planned
  Time came_at_{};      // the last one
  std::optional<Error> failure_;
  std::map<SourceIndex, Error> failed_;  // sources, and why

  ReducePeers peers_;
  ReducePlan plan_;
  bool planned_ = false;        // and nothing has ended it
  int planned_by_stripes_ = 0;  // how often, or as often as may be
  std::string last_loss_;
  std::string pair_loss_;  // the last one of two that can't connect

  bool shaped_ = false;
  std::string target_metadata_;
  std::uint64_t attempts_ = 0;
  std::uint64_t said_as_ = 0;  // the plan's own number; 0: it is said slot by slot
  std::uint64_t said_to_ = 0;  // the last attempt that was said with it
};

}  // namespace hoplite::planner
