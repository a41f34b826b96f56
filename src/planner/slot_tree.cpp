#include "planner/slot_tree.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace hoplite::planner {
namespace {

// 0: it is the root.
std::uint32_t ParentOf(const SlotOrder& order) { return order.root() ? 0 : order.parents.front(); }

}  // namespace

std::string SlotTree::WrongWith(const SlotOrder& order) const {
  const auto wrong = [&](std::string_view why) {
    return fmt::format("slot {}, fed to {}, {}", order.slot, ParentOf(order), why);
  };
  if (order.slot == 0 || order.slot > kMaxSlots) return wrong("has a number out of range");
  if (const SlotRecord* known = Find(order.slot)) {
    return ParentOf(known->order) == ParentOf(order) ? "" : wrong("had another parent before");
  }
  if (ParentOf(order) == 0 && children_.contains(0)) return wrong("is a second root");
  for (std::uint32_t at = ParentOf(order); at != 0;) {
    if (at == order.slot) return wrong("would be fed by itself");
    const SlotRecord* above = Find(at);
    at = above == nullptr ? 0 : ParentOf(above->order);
  }
  return {};
}

std::string SlotTree::TwiceIn(const SlotOrder& order) const {
  std::set<ObjectId> here;
  for (const SlotInput& input : order.inputs) {
    const auto at = folded_at_.find(input.object);
    const bool elsewhere =
        at != folded_at_.end() && at->second != order.slot && Folds(at->second, input.object);
    if (here.insert(input.object).second && !elsewhere) continue;
    return fmt::format("source {} of slot {} has a slot already", input.object.ToHex(), order.slot);
  }
  return {};
}

bool SlotTree::Folds(std::uint32_t slot, const ObjectId& source) const {
  const SlotRecord& known = slots_.at(slot);
  return known.order.node != kNoNode && !known.lost &&
         std::ranges::find(known.order.inputs, source, &SlotInput::object) !=
             known.order.inputs.end();
}

void SlotTree::Place(const SlotOrder& order, std::uint64_t attempt) {
  slots_[order.slot] = SlotRecord{.order = order, .attempt = attempt};
  children_[ParentOf(order)].insert(order.slot);
  for (const SlotInput& input : order.inputs) folded_at_[input.object] = order.slot;
  if (order.node != kNoNode) slot_of_[order.node] = order.slot;
}

void SlotTree::Clear() {
  slots_.clear();
  children_.clear();
}

SlotRecord* SlotTree::Find(std::uint32_t slot) {
  const auto entry = slots_.find(slot);
  return entry == slots_.end() ? nullptr : &entry->second;
}

const SlotRecord* SlotTree::Find(std::uint32_t slot) const {
  const auto entry = slots_.find(slot);
  return entry == slots_.end() ? nullptr : &entry->second;
}

const SlotRecord* SlotTree::Root() const {
  const std::set<std::uint32_t>& roots = ChildrenOf(0);
  return roots.empty() ? nullptr : Find(*roots.begin());
}

const std::set<std::uint32_t>& SlotTree::ChildrenOf(std::uint32_t slot) const {
  static const std::set<std::uint32_t> none;
  const auto children = children_.find(slot);
  return children == children_.end() ? none : children->second;
}

std::vector<std::uint32_t> SlotTree::Ancestors(std::uint32_t slot) const {
  std::vector<std::uint32_t> path;
  for (const SlotRecord* at = Find(slot); at != nullptr;) {
    at = Find(ParentOf(at->order));
    if (at != nullptr) path.push_back(at->order.slot);
  }
  return path;
}

std::vector<ObjectId> SlotTree::Inputs() const {
  std::vector<ObjectId> inputs;
  for (const auto& [slot, known] : slots_) {
    for (const SlotInput& input : known.order.inputs) inputs.push_back(input.object);
  }
  return inputs;
}

std::uint32_t SlotTree::SlotOf(NodeId node) const {
  const auto entry = slot_of_.find(node);
  return entry == slot_of_.end() ? 0 : entry->second;
}

std::string SlotTree::BrokenInvariant(Version target) const {
  std::set<Version> attempts;
  std::set<ObjectId> used;
  for (const auto& [slot, known] : slots_) {
    if (std::string broken = BrokenSlot(slot, known, target); !broken.empty()) return broken;
    if (!known.version) continue;
    if (!attempts.insert(known.version).second) {
      return fmt::format("S7: two slots have version {}", ToString(known.version));
    }
    if (known.lost) continue;  // about to be given to another
    for (const SlotInput& input : known.order.inputs) {
      if (used.insert(input.object).second) continue;
      return fmt::format("P6: source {} has two slots", input.object.ToHex());
    }
  }
  return {};
}

std::string SlotTree::BrokenSlot(std::uint32_t slot, const SlotRecord& known,
                                 Version target) const {
  const bool executed = known.order.node != kNoNode;
  if (executed != static_cast<bool>(known.version)) {
    return fmt::format("S7: slot {} has a version, or a node, but not both", slot);
  }
  if (!ChildrenOf(ParentOf(known.order)).contains(slot)) {
    return fmt::format("S4: slot {} is not among the children of {}", slot, ParentOf(known.order));
  }
  if (executed && ParentOf(known.order) == 0 && known.version != target) {
    return fmt::format("S7: the target is version {}, its root makes {}", ToString(target),
                       ToString(known.version));
  }
  return {};
}

}  // namespace hoplite::planner
