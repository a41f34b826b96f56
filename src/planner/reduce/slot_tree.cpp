#include "planner/reduce/slot_tree.h"

#include <algorithm>
#include <utility>

namespace hoplite::planner {

void SlotTree::Place(const SlotOrder& order, std::uint64_t attempt) {
  SlotRecord& placed = slots_[order.slot];
  for (const SlotInput& input : placed.order.inputs) {
    const auto at = folded_at_.find(input.object);
    if (at != folded_at_.end() && at->second.erase(order.slot) > 0 && at->second.empty()) {
      folded_at_.erase(at);
    }
  }
  placed = SlotRecord{.order = order, .attempt = attempt};
  if (order.root()) children_[0].insert(order.slot);
  for (const std::uint32_t parent : order.parents) children_[parent].insert(order.slot);
  for (const SlotInput& input : order.inputs) folded_at_[input.object].insert(order.slot);
  if (order.node != kNoNode) slot_of_[order.node] = order.slot;
  striped_ = roots().size() > 1;
}

void SlotTree::Clear() {
  slots_.clear();
  children_.clear();
  folded_at_.clear();
}

SlotRecord* SlotTree::Find(std::uint32_t slot) {
  const auto entry = slots_.find(slot);
  return entry == slots_.end() ? nullptr : &entry->second;
}

const SlotRecord* SlotTree::Find(std::uint32_t slot) const {
  const auto entry = slots_.find(slot);
  return entry == slots_.end() ? nullptr : &entry->second;
}

SlotRecord* SlotTree::RootAt(NodeId node) {
  for (const std::uint32_t root : roots()) {
    if (slots_.at(root).order.node == node) return &slots_.at(root);
  }
  return nullptr;
}

bool SlotTree::HasRootVersion() const {
  return std::ranges::any_of(
      roots(), [&](std::uint32_t root) { return static_cast<bool>(slots_.at(root).version); });
}

const std::set<std::uint32_t>& SlotTree::ChildrenOf(std::uint32_t slot) const {
  static const std::set<std::uint32_t> none;
  const auto children = children_.find(slot);
  return children == children_.end() ? none : children->second;
}

std::vector<std::uint32_t> SlotTree::Ancestors(std::uint32_t slot) const {
  std::vector<std::uint32_t> above{slot};
  std::set<std::uint32_t> seen{slot};
  for (std::size_t next = 0; next < above.size(); ++next) {
    const SlotRecord* known = Find(above[next]);
    if (known == nullptr) continue;
    for (const std::uint32_t parent : known->order.parents) {
      if (Find(parent) != nullptr && seen.insert(parent).second) above.push_back(parent);
    }
  }
  above.erase(above.begin());
  return above;
}

std::vector<ObjectId> SlotTree::Inputs() const {
  std::vector<ObjectId> inputs;
  std::set<ObjectId> named;
  for (const auto& [slot, known] : slots_) {
    for (const SlotInput& input : known.order.inputs) {
      if (named.insert(input.object).second) inputs.push_back(input.object);
    }
  }
  return inputs;
}

std::uint32_t SlotTree::SlotOf(NodeId node) const {
  const auto entry = slot_of_.find(node);
  if (entry == slot_of_.end()) return 0;
  return striped_ ? 1 : entry->second;
}

}  // namespace hoplite::planner
