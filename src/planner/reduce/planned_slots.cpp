#include "planner/reduce/planned_slots.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

#include "planner/reduce/reduce_tree.h"

namespace hoplite::planner {
namespace {

// Of one search.
constexpr int kMostLooks = 64;

}  // namespace

std::uint32_t PlannedSlots::Add(std::uint32_t parent) {
  const auto slot = static_cast<std::uint32_t>(all_.size() + 1);
  all_.emplace_back();
  at(slot).order.slot = slot;
  at(slot).parent = parent;
  vacant_.insert(slot);
  return slot;
}

std::uint32_t PlannedSlots::AddBelow(std::uint32_t parent) {
  const std::uint32_t slot = Add(parent);
  at(parent).feeders.push_back(slot);
  at(parent).order.children = static_cast<std::uint32_t>(at(parent).feeders.size());
  return slot;
}

std::uint32_t PlannedSlots::Build(std::uint32_t count, std::uint32_t degree) {
  std::uint32_t root = 0;
  for (const TreeSlot& place : ReduceTree(count, degree)) {
    const std::uint32_t slot = Add(place.parent);
    at(slot).order.children = place.children;
    if (place.parent == 0) root = slot;
  }
  for (std::uint32_t slot = 1; slot <= count; ++slot) {
    if (slot != root) at(at(slot).parent).feeders.push_back(slot);
  }
  return root;
}

void PlannedSlots::Build(std::vector<SlotOrder> orders) {
  for (SlotOrder& order : orders) {
    const std::uint32_t slot = Add(0);
    const NodeId node = order.node;
    at(slot).order = std::move(order);
    if (node != kNoNode) Assign(slot, node);
    SayAgain(slot);
  }
}

std::uint32_t PlannedSlots::AddRoot(std::uint32_t above) {
  const std::uint32_t root = Add(0);
  at(root).feeders = {above};
  at(root).order.children = 1;
  at(above).parent = root;
  return root;
}

std::uint32_t PlannedSlots::AddAbove(std::uint32_t below) {
  const std::uint32_t parent = at(below).parent;
  const std::uint32_t between = Add(parent);
  std::ranges::replace(at(parent).feeders, below, between);
  at(between).feeders = {below};
  at(between).order.children = 1;
  at(between).share = 0;
  at(below).parent = between;
  return between;
}

void PlannedSlots::Swap(std::uint32_t one, std::uint32_t other) {
  PlannedSlot& a = at(one);
  PlannedSlot& b = at(other);
  at_node_[a.order.node].erase(one);
  at_node_[b.order.node].erase(other);
  std::swap(a.order.node, b.order.node);
  std::swap(a.order.inputs, b.order.inputs);
  std::swap(a.picks, b.picks);
  std::swap(a.share, b.share);
  at_node_[a.order.node].insert(one);
  at_node_[b.order.node].insert(other);
}

const std::set<std::uint32_t>& PlannedSlots::At(NodeId node) const {
  static const std::set<std::uint32_t> kNone;
  const auto entry = at_node_.find(node);
  return entry == at_node_.end() ? kNone : entry->second;
}

void PlannedSlots::Assign(std::uint32_t slot, NodeId node) {
  at(slot).order.node = node;
  at_node_[node].insert(slot);
  vacant_.erase(slot);
  unsaid_.insert(slot);
}

void PlannedSlots::Vacate(std::uint32_t slot) {
  PlannedSlot& planned = at(slot);
  at_node_[planned.order.node].erase(slot);
  planned.order.node = kNoNode;
  planned.order.inputs.clear();
  planned.picks.clear();
  vacant_.insert(slot);
  unsaid_.insert(slot);
}

std::vector<std::uint32_t> PlannedSlots::TakeUnsaid() {
  const std::set<std::uint32_t> unsaid = std::exchange(unsaid_, {});
  const auto said = [this](std::uint32_t slot) { return at(slot).said(); };
  std::vector<std::uint32_t> ordered;
  std::ranges::copy_if(unsaid, std::back_inserter(ordered), said);
  std::ranges::copy_if(unsaid, std::back_inserter(ordered), std::not_fn(said));
  return ordered;
}

// --- what may change

// Itself or below it: then it has produced nothing.
bool PlannedSlots::SomethingIsVacant(std::uint32_t slot, int& looks) const {
  if (at(slot).vacant()) return true;
  return std::ranges::any_of(at(slot).feeders, [&](std::uint32_t feeder) {
    return --looks > 0 && SomethingIsVacant(feeder, looks);
  });
}

bool PlannedSlots::HasPulledNothing(std::uint32_t slot) const {
  int looks = kMostLooks;
  return std::ranges::all_of(at(slot).feeders, [&](std::uint32_t feeder) {
    return --looks > 0 && SomethingIsVacant(feeder, looks);
  });
}

bool PlannedSlots::RestartsForFree(std::uint32_t slot) const {
  const PlannedSlot& planned = at(slot);
  const std::uint32_t parent = planned.parent;
  const bool pulled = parent == 0 || !at(parent).vacant() || at(parent).said();
  if (planned.feeders.empty() && pulled) return false;
  int looks = kMostLooks;
  for (std::uint32_t above = slot; above != 0; above = at(above).parent) {
    if (--looks <= 0) return false;
    if (!at(above).vacant() && !HasPulledNothing(above)) return false;
  }
  return true;
}

std::optional<std::uint32_t> PlannedSlots::HighestWaiting() const {
  for (const std::uint32_t slot : vacant_ | std::views::reverse | std::views::take(kMostLooks)) {
    const PlannedSlot& planned = at(slot);
    const bool fresh = !planned.said() && planned.share == 1 && !planned.feeders.empty();
    if (fresh && HasPulledNothing(slot)) return slot;
  }
  return std::nullopt;
}

bool PlannedSlots::NeedsNoMemory(std::uint32_t slot) const {
  const PlannedSlot& planned = at(slot);
  return planned.feeders.empty() && planned.parent != 0 && planned.share == 1;
}

std::optional<std::uint32_t> PlannedSlots::LowestLeaf() const {
  for (const std::uint32_t slot : vacant_ | std::views::take(kMostLooks)) {
    if (NeedsNoMemory(slot)) return slot;
  }
  return std::nullopt;
}

bool PlannedSlots::RemoveOneFor(std::uint32_t joined) {
  for (const std::uint32_t slot : vacant_ | std::views::reverse | std::views::take(kMostLooks)) {
    if (RemoveIfSpare(slot, joined)) return true;
  }
  return false;
}

// A childless slot below one that was never said or is said again anyway; or one in a line, whose
// child was never said and gets its parent.
bool PlannedSlots::RemoveIfSpare(std::uint32_t slot, std::uint32_t joined) {
  PlannedSlot& spare = at(slot);
  const std::uint32_t parent = spare.parent;
  if (spare.said() || spare.share != 1 || parent == 0) return false;
  std::vector<std::uint32_t>& beside = at(parent).feeders;
  if (spare.feeders.empty()) {
    if (at(parent).said() && parent != joined) return false;
    std::erase(beside, slot);
    at(parent).order.children = static_cast<std::uint32_t>(beside.size());
  } else {
    const std::uint32_t child = spare.feeders.front();
    if (spare.feeders.size() > 1 || at(child).said()) return false;
    std::ranges::replace(beside, slot, child);
    at(child).parent = parent;
    spare.feeders.clear();
  }
  vacant_.erase(slot);
  return true;
}

}  // namespace hoplite::planner
