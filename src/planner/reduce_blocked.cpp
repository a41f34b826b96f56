// ReducePlanner: how a plan gets round nodes that can't reach each other. See docs/protocol.md, R68.
//
// A line of a, b and c, in which b can't reach a: others change places, so that the two are not
// neighbours. Where that does not help somebody stands between them, who has no source of the plan
// and passes on what comes in. A source that comes when others have their places is put below
// somebody who folds it in its stead (FolderFor), as that of a node without memory.
//
//   a ──▶ b ──▶ c     becomes   a ──▶ c ──▶ b            a ──▶ b    becomes   a ──▶ (c) ──▶ b
#include <algorithm>
#include <utility>
#include <vector>

#include "planner/reduce_planner.h"

namespace hoplite::planner {
namespace {

// Before a receiver is sent to a source again that it could not reach: the longest pause of the
// shard, which knows more.
constexpr Duration kBlockedFor = std::chrono::seconds(4);
// Plans of one reduction that end since somebody can't reach another.
constexpr int kMostDetours = 64;
constexpr std::uint32_t kMostSwaps = 256;  // tried for one slot

}  // namespace

// The plan ends: whatever was planned, those two are neighbours nowhere. But the source is fine. If
// there was no way around, the two try again when the pause is over. False: it was tried enough.
bool ReducePlanner::OnBlocked(const SlotLost& lost) {
  const std::pair pair(lost.receiver, slots_.at(lost.slot).order.node);
  if (lost.third != kNoNode) thirds_.insert(lost.third);
  const auto until = blocked_.Until(pair, now_);
  if (!until) blocked_.Insert(pair, now_ + kBlockedFor);
  if (planned_around_ >= kMostDetours) return false;
  ++planned_around_;
  if (until && planned_) rests_until_ = *until;
  EndPlan();
  return true;
}

bool ReducePlanner::AnyBlocked() const {
  return std::ranges::any_of(blocked_.entries(),
                             [this](const auto& entry) { return entry.second > now_; });
}

// Another may stand between the two.
bool ReducePlanner::OnBridgeLost(const SlotLost& lost) {
  if (planned_around_ >= kMostDetours) return false;
  ++planned_around_;
  const PlannedSlot& bridge = slots_.at(lost.slot);
  thirds_.erase(bridge.order.node);
  const NodeId receiver = slots_.at(bridge.parent).order.node;
  blocked_.Insert({receiver, bridge.order.node}, now_ + kBlockedFor);
  EndPlan();
  return true;
}

// --- a ring

// Each member pulls from the one before it. A swap counts if fewer can't reach theirs.
void ReducePlanner::AvoidBlocked(std::vector<Group>& ring) const {
  if (blocked_.entries().empty()) return;
  const std::size_t n = ring.size();
  const auto blocked_at = [&](std::size_t i) {
    return Blocked(ring[(i + 1) % n].node, ring[i % n].node) ? 1 : 0;
  };
  const auto blocked_around = [&](std::size_t i, std::size_t j) {
    return blocked_at(i + n - 1) + blocked_at(i) + blocked_at(j + n - 1) + blocked_at(j);
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (blocked_at(i) == 0) continue;
    for (std::size_t step = 2; step < n && blocked_at(i) != 0; ++step) {
      const std::size_t next = (i + 1) % n;
      const std::size_t other = (i + step) % n;
      const int before = blocked_around(next, other);
      std::swap(ring[next], ring[other]);
      if (blocked_around(next, other) >= before) std::swap(ring[next], ring[other]);
    }
  }
}

// In two trees it is not looked who folds whom.
bool ReducePlanner::MayFoldEachOther(const std::vector<Group>& members, StripeShape shape) const {
  if (blocked_.entries().empty()) return true;
  const std::size_t n = members.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (shape == StripeShape::kRing) {
      if (Blocked(members[(i + 1) % n].node, members[i].node)) return false;
      continue;
    }
    const bool blocked = std::ranges::any_of(
        members, [&](const Group& other) { return Blocked(members[i].node, other.node); });
    if (blocked) return false;
  }
  return true;
}

// --- a tree

bool ReducePlanner::IsBlockedAbove(std::uint32_t slot) const {
  const PlannedSlot& planned = slots_.at(slot);
  if (planned.parent == 0 || planned.vacant()) return false;
  return Blocked(slots_.at(planned.parent).order.node, planned.order.node);
}

std::size_t ReducePlanner::BlockedAround(std::uint32_t slot) const {
  std::size_t blocked = IsBlockedAbove(slot) ? 1 : 0;
  for (const std::uint32_t feeder : slots_.at(slot).feeders) {
    if (IsBlockedAbove(feeder)) ++blocked;
  }
  return blocked;
}

// Sources of a new plan change places until nobody has to pull from a node that it can't reach, or
// that helps no more.
void ReducePlanner::AvoidBlocked() {
  if (blocked_.entries().empty()) return;
  for (std::uint32_t slot = 1; slot <= slots_.size(); ++slot) {
    if (IsBlockedAbove(slot) && !SwapAway(slot)) SwapAway(slots_.at(slot).parent);
  }
}

// True: it changed places with another, and fewer can't reach theirs.
bool ReducePlanner::SwapAway(std::uint32_t slot) {
  const auto movable = [&](std::uint32_t one) {
    return one != pinned_ && !slots_.at(one).vacant();
  };
  if (!movable(slot)) return false;
  const std::uint32_t last = std::min(slots_.size(), kMostSwaps);
  for (std::uint32_t other = 1; other <= last; ++other) {
    if (other == slot || !movable(other)) continue;
    const std::size_t before = BlockedAround(slot) + BlockedAround(other);
    slots_.Swap(slot, other);
    if (BlockedAround(slot) + BlockedAround(other) < before) return true;
    slots_.Swap(slot, other);
  }
  return false;
}

// Nothing of the plan was said yet.
void ReducePlanner::Bridge() {
  if (blocked_.entries().empty()) return;
  const std::uint32_t count = slots_.size();
  for (std::uint32_t slot = 1; slot <= count; ++slot) {
    if (!IsBlockedAbove(slot)) continue;
    const NodeId third =
        ThirdBetween(slots_.at(slots_.at(slot).parent).order.node, slots_.at(slot).order.node);
    if (third == kNoNode) continue;
    some_only_fold_ = true;
    const std::uint32_t between = slots_.AddAbove(slot);
    slots_.Assign(between, third);
    bridges_.insert(between);
  }
}

NodeId ReducePlanner::ThirdBetween(NodeId receiver, NodeId source) const {
  return FirstHelper([&](NodeId third) {
    return third != receiver && third != source && !Blocked(receiver, third) &&
           !Blocked(third, source);
  });
}

// --- what comes later

// At that slot the node could not pull from those below it, or somebody above it not from the node.
bool ReducePlanner::IsBlockedBeside(std::uint32_t slot, NodeId node) const {
  if (blocked_.entries().empty()) return false;
  const PlannedSlot& planned = slots_.at(slot);
  const auto blocked_below = [&](std::uint32_t feeder) {
    return Blocked(node, slots_.at(feeder).order.node);
  };
  return (planned.parent != 0 && Blocked(slots_.at(planned.parent).order.node, node)) ||
         std::ranges::any_of(planned.feeders, blocked_below);
}

}  // namespace hoplite::planner
