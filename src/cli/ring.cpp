#include "cli/ring.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cli/tree.h"

namespace hoplite::cli {
namespace {

bool IsRoot(const SlotInfo& slot) { return slot.parent == 0; }

// What a picture of a ring is made of. A slot is part of it if it feeds less than all roots.
class Ring {
 public:
  Ring(const std::vector<SlotInfo>& slots, std::uint64_t size_bytes) : size_bytes_(size_bytes) {
    for (const SlotInfo& slot : slots) {
      by_number_[slot.slot] = &slot;
      if (IsRoot(slot)) roots_[slot.node] = &slot;
      root_count_ += IsRoot(slot) ? 1 : 0;
      if (!slot.stripes.empty())
        stripes_ = std::max<std::size_t>(stripes_, slot.stripes.back() + 1);
    }
    for (const SlotInfo& slot : slots) {
      if (!IsRoot(slot)) (FeedsAllRoots(slot) ? leaves_ : passing_).push_back(&slot);
    }
  }

  // Those that pass something on, each before the one that it feeds.
  std::vector<const SlotInfo*> InTurn() const {
    std::vector<const SlotInfo*> members;
    std::set<const SlotInfo*> seen;
    for (const SlotInfo* first : passing_) {
      // More than one way round while a plan is exchanged for another.
      for (const SlotInfo* at = first; at != nullptr && seen.insert(at).second; at = Next(*at)) {
        members.push_back(at);
      }
    }
    return members;
  }
  const std::vector<const SlotInfo*>& leaves() const { return leaves_; }

  std::string Member(const SlotInfo& passing) const {
    const auto root = roots_.find(passing.node);
    const std::string part =
        root == roots_.end()
            ? "makes none"
            : fmt::format("makes {}: {}", root->second->stripes.size(), Progress(*root->second));
    const std::size_t stripes = passing.stripes.size();
    return fmt::format("{}  {}, passes on {} stripe{}: {}, {}", passing.node, SourcesText(passing),
                       stripes, stripes == 1 ? "" : "s", Progress(passing), part);
  }
  std::string Leaf(const SlotInfo& leaf) const {
    if (leaf.node.empty()) return "vacant";
    return fmt::format("{}  {}, {}", leaf.node, SourcesText(leaf), Progress(leaf));
  }

 private:
  bool FeedsAllRoots(const SlotInfo& slot) const {
    return slot.parents.size() == root_count_ &&
           std::ranges::all_of(slot.parents, [this](std::uint32_t parent) {
             const auto found = by_number_.find(parent);
             return found != by_number_.end() && IsRoot(*found->second);
           });
  }

  // What the node that this one feeds passes on.
  const SlotInfo* Next(const SlotInfo& slot) const {
    const auto parent = by_number_.find(slot.parent);
    if (parent == by_number_.end()) return nullptr;
    const auto next = std::ranges::find(passing_, parent->second->node, &SlotInfo::node);
    return next == passing_.end() ? nullptr : *next;
  }

  // Of the stripes that the slot makes: about as large as others.
  std::string Progress(const SlotInfo& slot) const {
    const std::uint64_t size_bytes =
        stripes_ == 0 ? size_bytes_ : size_bytes_ * slot.stripes.size() / stripes_;
    return ProgressText(size_bytes == 0 ? slot.valid_bytes : std::min(slot.valid_bytes, size_bytes),
                        size_bytes);
  }

  const std::uint64_t size_bytes_;
  std::size_t stripes_ = 0;  // of the object
  std::size_t root_count_ = 0;
  std::map<std::uint32_t, const SlotInfo*> by_number_;
  std::map<std::string, const SlotInfo*> roots_;  // by their nodes
  std::vector<const SlotInfo*> passing_;
  std::vector<const SlotInfo*> leaves_;
};

void Add(const std::string& title, const std::vector<std::string>& items,
         std::vector<std::string>& lines) {
  lines.push_back(title);
  for (std::size_t i = 0; i < items.size(); ++i) {
    lines.push_back((i + 1 == items.size() ? "└─ " : "├─ ") + items[i]);
  }
}

}  // namespace

bool IsRing(const std::vector<SlotInfo>& slots) { return std::ranges::count_if(slots, IsRoot) > 1; }

std::vector<std::string> DrawRing(const std::vector<SlotInfo>& slots, std::uint64_t size_bytes) {
  const Ring ring(slots, size_bytes);
  std::vector<std::string> members;
  for (const SlotInfo* member : ring.InTurn()) members.push_back(ring.Member(*member));
  std::vector<std::string> lines;
  Add("ring: each feeds the next, the last one the first", members, lines);
  std::vector<std::string> leaves;
  for (const SlotInfo* leaf : ring.leaves()) leaves.push_back(ring.Leaf(*leaf));
  if (!leaves.empty()) Add("leaves: read by all of them", leaves, lines);
  return lines;
}

}  // namespace hoplite::cli
