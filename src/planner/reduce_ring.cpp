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

// Of k sources that are ready, the nodes, and the shape in which they fold stripes; none if a tree is
// better. It is while a source is late: that takes the root, and all others are folded when it comes.
std::optional<ReducePlanner::Stripes> ReducePlanner::ByStripes() const {
  if (!MayBeByStripes() || sources_.ready().size() < wanted_) return std::nullopt;
  Stripes plan{.members = InRingOrder(GroupByNode(FirstReady(wanted_)))};
  AvoidBlocked(plan.members);
  const std::optional<StripeShape> shape = ShapeFor(plan.members.size());
  if (!shape || !MayFoldEachOther(plan.members, *shape)) return std::nullopt;
  plan.shape = *shape;
  return plan;
}

std::optional<StripeShape> ReducePlanner::ShapeFor(std::size_t members) const {
  if (!two_trees_ && MakesRing(members, *layout_) && RingPays(members, *layout_, *link_)) {
    return StripeShape::kRing;
  }
  if (!MakesTwoTrees(members, *layout_)) return std::nullopt;
  const bool pays = members > kMostInARing && TwoTreesPay(members, *layout_, *link_);
  if (!two_trees_ && !pays) return std::nullopt;
  return StripeShape::kTwoTrees;
}

void ReducePlanner::PlanStripes(const Stripes& plan) {
  std::vector<NodeId> nodes;
  for (const Group& member : plan.members) nodes.push_back(member.node);
  slots_.Build(plan.shape == StripeShape::kRing ? StripeRing(nodes, *layout_)
                                                : TwoTrees(nodes, *layout_));
  for (const Group& member : plan.members) {
    for (const std::uint32_t slot : slots_.At(member.node)) {
      for (const SourceIndex pick : member.picks) TakePick(slot, pick);
    }
  }
  by_stripes_ = Present{plan.shape, static_cast<std::uint32_t>(nodes.size())};
  ++planned_by_stripes_;
}

// What follows is a tree, which needs less memory, and of some nodes none.
void ReducePlanner::OnPoorMember(NodeId node) {
  poor_.insert(node);
  planned_by_stripes_ = kMostPlans;
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
