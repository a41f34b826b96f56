// What orders no reduction has, and what must hold of its slots (the numbers are those of
// README.md).
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/copies/copy.h"
#include "planner/reduce/slot_tree.h"

namespace hoplite::planner {
namespace {

std::string WrongSlot(const SlotOrder& order, std::string_view why) {
  const auto& parents = order.parents;
  if (parents.empty()) return fmt::format("slot {}, a root, {}", order.slot, why);
  const bool many = parents.size() > kMaxStripes;
  return fmt::format(
      "slot {}, fed to {}, {}", order.slot,
      many ? fmt::format("{} slots", parents.size()) : fmt::format("{}", fmt::join(parents, ", ")),
      why);
}

std::string Words(StripeMask stripes) {
  return fmt::format("stripe{} {}", Count(stripes) == 1 ? "" : "s",
                     fmt::join(StripesOf(stripes), ", "));
}

}  // namespace

// --- orders

Result<SlotTree> SlotTree::Of(StripeMask stripes, const std::vector<PlannedOrder>& plan) {
  SlotTree tree(stripes);
  const auto bad = [](std::string why) {
    return std::unexpected(Error(ErrorCode::kProtocol, std::move(why)));
  };
  for (const PlannedOrder& planned : plan) {
    const SlotOrder& order = planned.order;
    if (tree.Find(order.slot) != nullptr) return bad(WrongSlot(order, "is ordered twice"));
    if (std::string wrong = tree.Misfit(order); !wrong.empty()) return bad(std::move(wrong));
    if (std::string twice = tree.TwiceIn(order); !twice.empty()) return bad(std::move(twice));
    tree.Place(order, planned.attempt);
  }
  if (std::string wrong = tree.WrongPlan(); !wrong.empty()) return bad(std::move(wrong));
  return tree;
}

std::string SlotTree::WrongWith(const SlotOrder& order) const {
  // The others of its sources' slots would start again, too.
  if (striped_ || order.parents.size() > 1 || order.stripes != stripes_) {
    return WrongSlot(order, "is a part of a plan and is ordered alone");
  }
  if (const SlotRecord* known = Find(order.slot)) {
    if (known->order.parents != order.parents) return WrongSlot(order, "had another parent before");
    if (std::string wrong = WrongChildren(order); !wrong.empty()) return wrong;
  } else if (std::string misfit = Misfit(order); !misfit.empty()) {
    return misfit;
  } else if (FeedsItself(order)) {
    return WrongSlot(order, "would be fed by itself");
  }
  return {};
}

std::string SlotTree::Misfit(const SlotOrder& order) const {
  if (order.slot == 0 || order.slot > kMaxSlots)
    return WrongSlot(order, "has a number out of range");
  if (order.stripes == 0) return WrongSlot(order, "makes no stripe");
  if (const StripeMask strange = order.stripes & ~stripes_; strange != 0) {
    return WrongSlot(order, "makes " + Words(strange) + ", which the target does not have");
  }
  for (const std::uint32_t root : roots()) {
    const StripeMask both = slots_.at(root).order.stripes & order.stripes;
    if (order.root() && both != 0) return WrongSlot(order, "is a second root of " + Words(both));
  }
  if (std::string wrong = WrongParents(order); !wrong.empty()) return wrong;
  if (std::string wrong = WrongShares(order, order); !wrong.empty()) return wrong;
  if (std::string wrong = WrongChildren(order); !wrong.empty()) return wrong;
  for (const std::uint32_t child : ChildrenOf(order.slot)) {
    std::string wrong = WrongShares(slots_.at(child).order, order);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string SlotTree::WrongParents(const SlotOrder& order) const {
  if (order.parents.size() > kMaxStripes)
    return WrongSlot(order, "feeds more slots than stripes are");
  std::set<std::uint32_t> named;
  for (const std::uint32_t parent : order.parents) {
    if (parent == order.slot) return WrongSlot(order, "would be fed by itself");
    if (parent == 0 || parent > kMaxSlots) {
      return WrongSlot(order, "feeds a slot whose number is out of range");
    }
    if (!named.insert(parent).second) return WrongSlot(order, "feeds one slot twice");
  }
  return {};
}

std::string SlotTree::WrongShares(const SlotOrder& order, const SlotOrder& placed) const {
  StripeMask fed = 0;
  bool known_all = true;
  for (const std::uint32_t parent : order.parents) {
    const SlotRecord* known = Find(parent);
    const SlotOrder* above = known != nullptr ? &known->order : nullptr;
    if (parent == placed.slot) above = &placed;
    known_all = known_all && above != nullptr;
    if (above == nullptr) continue;
    const StripeMask share = order.stripes & above->stripes;
    if (share == 0) {
      return WrongSlot(order, fmt::format("makes no stripe that slot {} makes", parent));
    }
    if ((share & fed) != 0)
      return WrongSlot(order, "feeds " + Words(share & fed) + " to two slots");
    fed |= share;
  }
  if (order.root() || !known_all || fed == order.stripes) return {};
  return WrongSlot(order, "feeds " + Words(order.stripes & ~fed) + " to nobody");
}

// Whoever executes a slot folds as many as its order counts, and none beyond.
std::string SlotTree::WrongChildren(const SlotOrder& order) const {
  const auto more = [](const SlotOrder& fed, std::size_t children) {
    return WrongSlot(fed,
                     fmt::format("has {} children, its order counts {}", children, fed.children));
  };
  const std::size_t below = ChildrenOf(order.slot).size();
  if (below > order.children) return more(order, below);
  for (const std::uint32_t parent : order.parents) {
    const SlotRecord* above = Find(parent);
    if (above == nullptr || ChildrenOf(parent).contains(order.slot)) continue;
    const std::size_t with_it = ChildrenOf(parent).size() + 1;
    if (with_it > above->order.children) return more(above->order, with_it);
  }
  return {};
}

// Of a tree: there is one way up.
bool SlotTree::FeedsItself(const SlotOrder& order) const {
  if (ChildrenOf(order.slot).empty()) return false;
  const SlotOrder* at = &order;
  while (!at->root()) {
    const std::uint32_t parent = at->parents.front();
    if (parent == order.slot) return true;
    const SlotRecord* above = Find(parent);
    if (above == nullptr) return false;
    at = &above->order;
  }
  return false;
}

std::string SlotTree::TwiceIn(const SlotOrder& order) const {
  std::set<ObjectId> here;
  for (const SlotInput& input : order.inputs) {
    const auto at = folded_at_.find(input.object);
    const bool elsewhere =
        at != folded_at_.end() && std::ranges::any_of(at->second, [&](std::uint32_t slot) {
          return slot != order.slot && (slots_.at(slot).order.stripes & order.stripes) != 0 &&
                 Folds(slot, input.object);
        });
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

// --- plans

std::string SlotTree::WrongPlan() const {
  for (const auto& [slot, known] : slots_) {
    if (known.order.stripes == stripes_ && !striped_) continue;
    for (const std::uint32_t parent : known.order.parents) {
      if (Find(parent) == nullptr) {
        return WrongSlot(known.order, fmt::format("waits for slot {}, which is not there", parent));
      }
    }
  }
  if (std::string wrong = WrongRoots(); !wrong.empty()) return wrong;
  if (std::string wrong = WrongWalks(); !wrong.empty()) return wrong;
  if (std::string wrong = WrongSources(); !wrong.empty()) return wrong;
  return striped_ ? LackingChildren() : std::string();
}

// Of a ring all are there.
std::string SlotTree::LackingChildren() const {
  for (const auto& [slot, known] : slots_) {
    const std::size_t below = ChildrenOf(slot).size();
    if (below == known.order.children) continue;
    return WrongSlot(known.order,
                     fmt::format("waits for {} children of {}", known.order.children, below));
  }
  return {};
}

std::string SlotTree::WrongRoots() const {
  StripeMask rooted = 0;
  std::set<NodeId> nodes;
  for (const std::uint32_t root : roots()) {
    const SlotOrder& order = slots_.at(root).order;
    if ((rooted & order.stripes) != 0) return WrongSlot(order, "is a second root");
    rooted |= order.stripes;
    if (order.node != kNoNode && !nodes.insert(order.node).second) {
      return WrongSlot(order, fmt::format("is the second of {}", ToString(order.node)));
    }
  }
  if (rooted == 0 || rooted == stripes_) return {};
  return "no root makes " + Words(stripes_ & ~rooted);
}

std::string SlotTree::WrongWalks() const {
  const std::map<std::uint32_t, StripeMask> ending = Ending();
  for (const auto& [slot, known] : slots_) {
    const auto entry = ending.find(slot);
    const StripeMask round = known.order.stripes & ~(entry == ending.end() ? 0 : entry->second);
    if (round != 0) return WrongSlot(known.order, "would be fed by itself in " + Words(round));
  }
  return {};
}

// From the ends down: what is never come by goes round in a circle.
std::map<std::uint32_t, StripeMask> SlotTree::Ending() const {
  std::map<std::uint32_t, StripeMask> ending;
  std::vector<std::pair<std::uint32_t, StripeMask>> walks;
  for (const auto& [slot, known] : slots_) {
    const StripeMask ends = known.order.root() ? known.order.stripes : Unfed(known.order);
    if (ends != 0) walks.emplace_back(slot, ends);
  }
  while (!walks.empty()) {
    const auto [slot, stripes] = walks.back();
    walks.pop_back();
    ending[slot] |= stripes;
    for (const std::uint32_t child : ChildrenOf(slot)) {
      const StripeMask down = stripes & slots_.at(child).order.stripes;
      if (down != 0) walks.emplace_back(child, down);
    }
  }
  return ending;
}

StripeMask SlotTree::Unfed(const SlotOrder& order) const {
  StripeMask unfed = order.stripes;
  for (const std::uint32_t parent : order.parents) {
    const SlotRecord* above = Find(parent);
    if (above != nullptr) unfed &= ~above->order.stripes;
  }
  return unfed;
}

std::string SlotTree::WrongSources() const {
  for (const auto& [source, slots] : folded_at_) {
    StripeMask folded = 0;
    bool lost = false;
    for (const std::uint32_t slot : slots) {
      const SlotRecord& known = slots_.at(slot);
      if (known.order.node != kNoNode) folded |= known.order.stripes;
      lost = lost || known.lost;
    }
    if (lost || folded == 0 || folded == stripes_) continue;
    return fmt::format("P6: source {} is missing in {}", source.ToHex(), Words(stripes_ & ~folded));
  }
  return {};
}

// --- invariants

std::string SlotTree::BrokenInvariant(Version target) const {
  std::set<Version> attempts;
  if (striped_ && HasRootVersion()) attempts.insert(target);  // all roots'
  std::map<ObjectId, StripeMask> used;
  for (const auto& [slot, known] : slots_) {
    if (std::string broken = BrokenSlot(slot, known, target); !broken.empty()) return broken;
    if (!known.version) continue;
    const bool shares = striped_ && known.order.root();
    if (!shares && !attempts.insert(known.version).second) {
      return fmt::format("S7: two slots have version {}", ToString(known.version));
    }
    if (known.lost) continue;  // about to be given to another
    for (const SlotInput& input : known.order.inputs) {
      StripeMask& folded = used[input.object];
      if ((folded & known.order.stripes) != 0) {
        return fmt::format("P6: source {} has two slots", input.object.ToHex());
      }
      folded |= known.order.stripes;
    }
  }
  if (std::string wrong = WrongRoots(); !wrong.empty()) return "S9: " + wrong;
  // A tree takes no circle; looking for one after each event would cost more than all else.
  if (!striped_) return WrongSources();
  if (std::string wrong = WrongWalks(); !wrong.empty()) return "S9: " + wrong;
  return WrongSources();
}

std::string SlotTree::BrokenSlot(std::uint32_t slot, const SlotRecord& known,
                                 Version target) const {
  const bool executed = known.order.node != kNoNode;
  if (executed != static_cast<bool>(known.version)) {
    return fmt::format("S7: slot {} has a version, or a node, but not both", slot);
  }
  const bool unknown = std::ranges::any_of(known.order.parents, [&](std::uint32_t parent) {
    return !ChildrenOf(parent).contains(slot);
  });
  if (unknown || (known.order.root() && !roots().contains(slot))) {
    return fmt::format("S4: slot {} is not among the children of all that fold it", slot);
  }
  if (executed && known.order.root() && known.version != target) {
    return fmt::format("S7: the target is version {}, its root makes {}", ToString(target),
                       ToString(known.version));
  }
  return {};
}

}  // namespace hoplite::planner
