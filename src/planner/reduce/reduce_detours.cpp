#include "planner/reduce/reduce_detours.h"

#include <algorithm>
#include <utility>

namespace hoplite::planner {
namespace {

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

// Looks for a place for one that can't reach those around it. No more of the poor than before come to
// places that need memory: another would fold in their stead, whom those around may not reach either.
class Rearrangement {
 public:
  Rearrangement(const ReducePeers& peers, const std::set<NodeId>& poor, ReducePlan& tree)
      : peers_(peers), poor_(poor), tree_(tree), slots_(tree.slots) {}

  // True: it changed places with another, and fewer can't reach theirs.
  bool SwapAway(std::uint32_t slot) {
    if (!Movable(slot)) return false;
    const std::uint32_t last = std::min(slots_.size(), kMostSwaps);
    for (std::uint32_t other = 1; other <= last; ++other) {
      if (other == slot || !Movable(other)) continue;
      const auto around = [&] {
        return BlockedAround(peers_, slots_, slot) + BlockedAround(peers_, slots_, other);
      };
      const std::size_t before = around();
      const std::size_t misfits = Misfits(slot, other);
      slots_.Swap(slot, other);
      if (around() < before && Misfits(slot, other) <= misfits) return true;
      slots_.Swap(slot, other);
    }
    return false;
  }
  // The same, between two others: those on the way move up by one.
  bool MoveAway(std::uint32_t slot) {
    if (slots_.size() > kMostMoved) return false;
    const std::size_t before = Blocked();
    const std::size_t misfits = Misfits();
    for (std::uint32_t other = 1; other <= slots_.size(); ++other) {
      if (!AllMovable(std::min(slot, other), std::max(slot, other))) continue;
      Move(slot, other);
      if (Blocked() < before && Misfits() <= misfits) return true;
      Move(other, slot);
    }
    return false;
  }

 private:
  static constexpr std::uint32_t kMostSwaps = 256;  // tried for one slot
  static constexpr std::uint32_t kMostMoved = 64;   // slots of a plan in which more is tried

  bool Movable(std::uint32_t slot) const {
    return slot != tree_.pinned && !slots_.at(slot).vacant();
  }
  bool AllMovable(std::uint32_t from, std::uint32_t to) const {
    for (std::uint32_t slot = from; slot <= to; ++slot) {
      if (!Movable(slot)) return false;
    }
    return true;
  }
  void Move(std::uint32_t from, std::uint32_t to) {
    for (; from < to; ++from) slots_.Swap(from, from + 1);
    for (; from > to; --from) slots_.Swap(from, from - 1);
  }
  bool IsMisfit(std::uint32_t slot) const {
    return poor_.contains(slots_.at(slot).order.node) && !slots_.NeedsNoMemory(slot);
  }
  std::size_t Misfits(std::uint32_t one, std::uint32_t other) const {
    return (IsMisfit(one) ? 1 : 0) + (IsMisfit(other) ? 1 : 0);
  }
  std::size_t Misfits() const {
    return Count([this](std::uint32_t slot) { return IsMisfit(slot); });
  }
  std::size_t Blocked() const {
    return Count([this](std::uint32_t slot) { return IsBlockedAbove(peers_, slots_, slot); });
  }
  template <typename Predicate>
  std::size_t Count(Predicate predicate) const {
    std::size_t count = 0;
    for (std::uint32_t slot = 1; slot <= slots_.size(); ++slot) count += predicate(slot) ? 1 : 0;
    return count;
  }

  const ReducePeers& peers_;
  const std::set<NodeId>& poor_;
  const ReducePlan& tree_;
  PlannedSlots& slots_;
};

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

void AvoidBlocked(const ReducePeers& peers, const std::set<NodeId>& poor, ReducePlan& tree) {
  if (peers.all_reach_all()) return;
  Rearrangement places(peers, poor, tree);
  const auto blocked = [&](std::uint32_t slot) { return IsBlockedAbove(peers, tree.slots, slot); };
  for (std::uint32_t slot = 1; slot <= tree.slots.size(); ++slot) {
    if (blocked(slot) && !places.SwapAway(slot)) places.SwapAway(tree.slots.at(slot).parent);
  }
  for (std::uint32_t slot = 1; slot <= tree.slots.size(); ++slot) {
    if (blocked(slot) && !places.MoveAway(slot)) places.MoveAway(tree.slots.at(slot).parent);
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
