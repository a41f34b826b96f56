// ReducePlacement: when a reduction is by stripes, of what, and in which shape. See docs/protocol.md, R64.
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/reduce/reduce_cost.h"
#include "planner/reduce/reduce_detours.h"
#include "planner/reduce/reduce_placement.h"
#include "planner/reduce/stripe_ring.h"
#include "planner/reduce/two_trees.h"

namespace hoplite::planner {
namespace {

// A partial sum goes one way and the target the other: each way between two sites carries the object
// once. A ring goes over both ways with nearly twice as much.
bool AreOfTwoSites(const ReducePeers& peers, const std::vector<ReduceMember>& members) {
  std::set<std::string> sites;
  for (const ReduceMember& member : members) sites.insert(peers.SiteOf(member.node));
  return sites.size() == 2;
}

}  // namespace

// Of k sources that are ready. A tree is better while one is late: that takes the root, and all others
// are folded when it comes.
bool ReducePlacement::PlanStripes(StripePlans allowed) {
  if (sources_.ready().size() < wanted_) return false;
  std::vector<ReduceMember> members = InRingOrder(MembersOf(FirstReady(wanted_)));
  if (AreOfTwoSites(peers_, members)) return false;
  AvoidBlocked(peers_, members);
  const std::optional<StripeShape> shape = ShapeFor(members.size(), allowed);
  if (!shape || !MayFoldEachOther(peers_, members, *shape)) return false;
  std::vector<NodeId> nodes;
  for (const ReduceMember& member : members) nodes.push_back(member.node);
  slots_.Build(*shape == StripeShape::kRing ? StripeRing(nodes, layout_)
                                            : TwoTrees(nodes, layout_));
  for (const ReduceMember& member : members) {
    for (const std::uint32_t slot : slots_.At(member.node)) {
      for (const SourceIndex pick : member.picks) TakePick(slot, pick);
    }
  }
  plan_.by_stripes = ReducePlan::ByStripes{*shape, static_cast<std::uint32_t>(nodes.size())};
  return true;
}

std::optional<StripeShape> ReducePlacement::ShapeFor(std::size_t members,
                                                     StripePlans allowed) const {
  const bool two_trees = allowed == StripePlans::kTwoTrees;
  if (allowed == StripePlans::kTree) return std::nullopt;
  const bool rings = !two_trees && allowed != StripePlans::kNoRing;
  if (rings && MakesRing(members, layout_) && RingPays(members, layout_, link_)) {
    return StripeShape::kRing;
  }
  if (allowed == StripePlans::kNoTwoTrees || !MakesTwoTrees(members, layout_)) return std::nullopt;
  const bool pays = members > kMostInARing && TwoTreesPay(members, layout_, link_);
  if (!two_trees && !pays) return std::nullopt;
  return StripeShape::kTwoTrees;
}

}  // namespace hoplite::planner
