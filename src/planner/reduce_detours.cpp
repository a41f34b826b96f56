#include "planner/reduce_detours.h"

#include <algorithm>
#include <utility>

namespace hoplite::planner {
namespace {

constexpr std::uint32_t kMostSwaps = 256;  // tried for one slot

bool IsBlockedAbove(const ReducePeers& peers, const PlannedSlots& slots, std::uint32_t slot) {
  const PlannedSlot& planned = slots.at(slot);
  if (planned.parent == 0 || planned.vacant()) return false;
  return peers.Blocked(slots.at(planned.parent).order.node, planned.order.node);
}

std::size_t BlockedAround(const ReducePeers& peers, const PlannedSlots& slots, std::uint32_t slot) {
  std::size_t blocked = IsBlockedAbove(peers, slots, slot) ? 1 : 0;
  for (const std::uint32_t feeder : slots.at(slot).feeders) {
    if (IsBlockedAbove(peers, slots, feeder)) ++blocked;
  }
  return blocked;
}

// True: it changed places with another, and fewer can't reach theirs.
bool SwapAway(const ReducePeers& peers, ReducePlan& tree, std::uint32_t slot) {
  PlannedSlots& slots = tree.slots;
  const auto movable = [&](std::uint32_t one) {
    return one != tree.pinned && !slots.at(one).vacant();
  };
  if (!movable(slot)) return false;
  const auto blocked_around = [&](std::uint32_t other) {
    return BlockedAround(peers, slots, slot) + BlockedAround(peers, slots, other);
  };
  const std::uint32_t last = std::min(slots.size(), kMostSwaps);
  for (std::uint32_t other = 1; other <= last; ++other) {
    if (other == slot || !movable(other)) continue;
    const std::size_t before = blocked_around(other);
    slots.Swap(slot, other);
    if (blocked_around(other) < before) return true;
    slots.Swap(slot, other);
  }
  return false;
}

}  // namespace

// A swap counts if fewer can't reach theirs.
void AvoidBlocked(const ReducePeers& peers, std::vector<ReduceMember>& ring) {
  if (peers.all_reach_all()) return;
  const std::size_t n = ring.size();
  const auto blocked_at = [&](std::size_t i) {
    return peers.Blocked(ring[(i + 1) % n].node, ring[i % n].node) ? 1 : 0;
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
bool MayFoldEachOther(const ReducePeers& peers, const std::vector<ReduceMember>& members,
                      StripeShape shape) {
  if (peers.all_reach_all()) return true;
  const std::size_t n = members.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (shape == StripeShape::kRing) {
      if (peers.Blocked(members[(i + 1) % n].node, members[i].node)) return false;
      continue;
    }
    const bool blocked = std::ranges::any_of(members, [&](const ReduceMember& other) {
      return peers.Blocked(members[i].node, other.node);
    });
    if (blocked) return false;
  }
  return true;
}

void AvoidBlocked(const ReducePeers& peers, ReducePlan& tree) {
  if (peers.all_reach_all()) return;
  for (std::uint32_t slot = 1; slot <= tree.slots.size(); ++slot) {
    if (!IsBlockedAbove(peers, tree.slots, slot) || SwapAway(peers, tree, slot)) continue;
    SwapAway(peers, tree, tree.slots.at(slot).parent);
  }
}

void Bridge(const ReducePeers& peers, const ReduceSources& sources, ReducePlan& tree) {
  if (peers.all_reach_all()) return;
  PlannedSlots& slots = tree.slots;
  const std::uint32_t count = slots.size();
  for (std::uint32_t slot = 1; slot <= count; ++slot) {
    if (!IsBlockedAbove(peers, slots, slot)) continue;
    const NodeId third = peers.ThirdBetween(sources, slots.at(slots.at(slot).parent).order.node,
                                            slots.at(slot).order.node);
    if (third == kNoNode) continue;
    tree.some_only_fold = true;
    const std::uint32_t between = slots.AddAbove(slot);
    slots.Assign(between, third);
    tree.bridges.insert(between);
  }
}

bool IsBlockedBeside(const ReducePeers& peers, const PlannedSlots& slots, std::uint32_t slot,
                     NodeId node) {
  if (peers.all_reach_all()) return false;
  const PlannedSlot& planned = slots.at(slot);
  const auto blocked_below = [&](std::uint32_t feeder) {
    return peers.Blocked(node, slots.at(feeder).order.node);
  };
  return (planned.parent != 0 && peers.Blocked(slots.at(planned.parent).order.node, node)) ||
         std::ranges::any_of(planned.feeders, blocked_below);
}

}  // namespace hoplite::planner
