// ReducePlanner: when a reduction is by stripes, and of what. See docs/protocol.md, R64.
#include <utility>
#include <vector>

#include "planner/reduce_cost.h"
#include "planner/reduce_planner.h"
#include "planner/stripe_ring.h"

namespace hoplite::planner {
namespace {

// What loses member after member is better off with a tree, of which a loss leaves something.
constexpr int kMostRings = 64;
// So does what loses the leaf of one node again and again: some root can't reach it. All roots pull a
// leaf, and start again with it; in a tree one node does.
constexpr int kMostLeafLosses = 3;

}  // namespace

// Whoever says where the root is, or how the tree looks, gets what he says.
bool ReducePlanner::MayBeRing() const {
  const bool asked = options_.everyone_reads && !options_.root_here && !options_.fixed_order;
  return asked && options_.degree == 0 && wanted_ >= 2 && layout_->stripe_count >= 2 &&
         rings_ < kMostRings;
}

// Of k sources that are ready, those on nodes with memory; none if a tree is better. It is while a
// source is late: that takes the root, and all others are folded when it comes. As a leaf of a ring
// it would be sent to all members, and then the sum around to all.
std::vector<ReducePlanner::Group> ReducePlanner::RingMembers() const {
  if (!MayBeRing() || sources_.ready().size() < wanted_) return {};
  std::vector<Group> members = InRingOrder(GroupByNode(FirstReady(wanted_)));
  std::erase_if(members, [this](const Group& group) { return poor_.contains(group.node); });
  const bool good = MakesRing(members.size(), LeavesBeside(members), *layout_) &&
                    RingPays(members.size(), *layout_, *link_);
  if (!good) members.clear();
  return members;
}

std::size_t ReducePlanner::LeavesBeside(const std::vector<Group>& members) const {
  std::size_t leaves = wanted_;
  for (const Group& member : members) leaves -= member.picks.size();
  return leaves;
}

void ReducePlanner::PlanRing(const std::vector<Group>& members) {
  std::vector<NodeId> nodes;
  for (const Group& member : members) nodes.push_back(member.node);
  const std::size_t leaves = LeavesBeside(members);
  slots_.Build(StripeRing(nodes, leaves, *layout_));
  for (const Group& member : members) {
    for (const std::uint32_t slot : slots_.At(member.node)) {
      for (const SourceIndex pick : member.picks) TakePick(slot, pick);
    }
  }
  ring_ = Ring{.members = static_cast<std::uint32_t>(nodes.size()),
               .not_leaves = slots_.size() - static_cast<std::uint32_t>(leaves)};
  ++rings_;
}

// A leaf needs no memory wherever it is: its node serves the source as it is.
void ReducePlanner::FillLeaves() {
  while (!slots_.vacant().empty() && !sources_.ready().empty()) {
    const SourceIndex source = sources_.ready().begin()->second;
    Place(*slots_.vacant().begin(), {NodeFor(source), {source}});
  }
}

bool ReducePlanner::IsLostAgain(NodeId leaf) {
  if (++leaves_lost_[leaf] < kMostLeafLosses) return false;
  rings_ = kMostRings;
  return true;
}

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
