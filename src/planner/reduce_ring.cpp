// ReducePlanner: when a reduction is by stripes, of what, and in which shape. See docs/protocol.md, R64
// and R66.
#include <optional>
#include <utility>
#include <vector>

#include "planner/reduce_cost.h"
#include "planner/reduce_planner.h"
#include "planner/stripe_ring.h"
#include "planner/two_trees.h"

namespace hoplite::planner {
namespace {

// What loses member after member is better off with a tree, of which a loss leaves something.
constexpr int kMostPlans = 64;
// So does what loses the leaf of one node again and again: some root can't reach it. All roots pull a
// leaf, and start again with it; in a tree one node does.
constexpr int kMostLeafLosses = 3;

}  // namespace

// Whoever says where the root is, or how the tree looks, gets what he says.
bool ReducePlanner::EveryoneReads() const {
  const bool shaped = options_.root_here || options_.fixed_order || options_.degree != 0;
  return options_.everyone_reads && !shaped;
}

bool ReducePlanner::MayBeByStripes() const {
  return EveryoneReads() && wanted_ >= 2 && layout_->stripe_count >= 2 &&
         planned_by_stripes_ < kMostPlans;
}

// Of k sources that are ready, those on nodes with memory, and the shape in which they fold stripes;
// none if a tree is better. It is while a source is late: that takes the root, and all others are
// folded when it comes. As a leaf of a ring it would be sent to all members, and then the sum around to
// all.
std::optional<ReducePlanner::Stripes> ReducePlanner::ByStripes() const {
  if (!MayBeByStripes() || sources_.ready().size() < wanted_) return std::nullopt;
  Stripes plan{.members = InRingOrder(GroupByNode(FirstReady(wanted_)))};
  std::erase_if(plan.members, [this](const Group& group) { return poor_.contains(group.node); });
  AvoidBlocked(plan.members);
  plan.leaves = wanted_;
  for (const Group& member : plan.members) plan.leaves -= member.picks.size();
  const std::optional<StripeShape> shape = ShapeFor(plan.members.size(), plan.leaves);
  if (!shape || !MayFoldEachOther(plan.members, *shape)) return std::nullopt;
  plan.shape = *shape;
  return plan;
}

std::optional<StripeShape> ReducePlanner::ShapeFor(std::size_t members, std::size_t leaves) const {
  if (!two_trees_ && MakesRing(members, leaves, *layout_) && RingPays(members, *layout_, *link_)) {
    return StripeShape::kRing;
  }
  if (!MakesTwoTrees(members, leaves, *layout_)) return std::nullopt;
  const bool pays = members > kMostInARing && TwoTreesPay(members, *layout_, *link_);
  if (!two_trees_ && !pays) return std::nullopt;
  return StripeShape::kTwoTrees;
}

void ReducePlanner::PlanStripes(const Stripes& plan) {
  std::vector<NodeId> nodes;
  for (const Group& member : plan.members) nodes.push_back(member.node);
  slots_.Build(plan.shape == StripeShape::kRing ? StripeRing(nodes, plan.leaves, *layout_)
                                                : TwoTrees(nodes, plan.leaves, *layout_));
  for (const Group& member : plan.members) {
    for (const std::uint32_t slot : slots_.At(member.node)) {
      for (const SourceIndex pick : member.picks) TakePick(slot, pick);
    }
  }
  by_stripes_ = Present{.shape = plan.shape,
                        .members = static_cast<std::uint32_t>(nodes.size()),
                        .not_leaves = slots_.size() - static_cast<std::uint32_t>(plan.leaves)};
  ++planned_by_stripes_;
}

// A leaf needs no memory wherever it is: its node serves the source as it is, to all roots. If one
// can't reach it (R68), the plan ends.
void ReducePlanner::FillLeaves() {
  while (!slots_.vacant().empty() && !sources_.ready().empty()) {
    const SourceIndex source = sources_.ready().begin()->second;
    const std::uint32_t leaf = *slots_.vacant().begin();
    const NodeId node = NodeFor(source);
    if (IsBlockedBeside(leaf, node)) {
      LeaveStripes();
      return EndPlan();
    }
    Place(leaf, {node, {source}});
  }
}

bool ReducePlanner::IsLostAgain(NodeId leaf) {
  if (++leaves_lost_[leaf] < kMostLeafLosses) return false;
  LeaveStripes();
  return true;
}

// All roots pull a leaf: in a tree one node does.
void ReducePlanner::LeaveStripes() { planned_by_stripes_ = kMostPlans; }

// Others that lack memory have waited for it as long, and say so any moment.
void ReducePlanner::OnPoorMember(NodeId node) {
  poor_.insert(node);
  if (planned_) rests_until_ = now_ + RingWaitsFor(*layout_, *link_).from_last;
}

// More slots of it may be reported lost before it is replaced, and tell of more sources that are not
// to be used.
void ReducePlanner::EndPlan() {
  if (!std::exchange(planned_, false)) return;
  batch_since_ = came_at_ = now_;
  for (const PlannedSlot& planned : slots_.all()) {
    for (const SourceIndex pick : planned.picks) GiveBack(pick);
  }
}

}  // namespace hoplite::planner
