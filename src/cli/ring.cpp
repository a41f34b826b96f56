#include "cli/ring.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/layout.h"
#include "cli/tree.h"

namespace hoplite::cli {
namespace {

bool IsRoot(const SlotInfo& slot) { return slot.parent == 0; }

// What a picture of a ring is made of.
class Ring {
 public:
  Ring(const std::vector<SlotInfo>& slots, std::uint64_t size_bytes) {
    std::uint32_t stripes = 1;  // of the object
    for (const SlotInfo& slot : slots) {
      by_number_[slot.slot] = &slot;
      if (IsRoot(slot)) {
        roots_[slot.node] = &slot;
      } else {
        passing_.push_back(&slot);
      }
      if (!slot.stripes.empty()) stripes = std::max(stripes, slot.stripes.back() + 1);
    }
    layout_ = Layout::For(size_bytes, std::min(stripes, kMaxStripes));
  }

  bool IsOne() const {
    std::map<std::uint32_t, int> folded;  // by each slot
    for (const SlotInfo* each : passing_) {
      for (const std::uint32_t parent : each->parents) ++folded[parent];
    }
    return roots_.size() > 1 &&
           std::ranges::all_of(folded, [](const auto& entry) { return entry.second <= 1; });
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

  std::string Member(const SlotInfo& passing) const {
    return fmt::format("{}  {}, passes on {} of {} stripes: {}, makes {}", passing.node,
                       SourcesText(passing), passing.stripes.size(), layout_.stripe_count,
                       Progress(passing), MadeAt(passing.node));
  }

 private:
  // What the node that this one feeds passes on.
  const SlotInfo* Next(const SlotInfo& slot) const {
    const auto parent = by_number_.find(slot.parent);
    if (parent == by_number_.end()) return nullptr;
    const auto next = std::ranges::find(passing_, parent->second->node, &SlotInfo::node);
    return next == passing_.end() ? nullptr : *next;
  }

  std::string MadeAt(const std::string& node) const {
    const auto root = roots_.find(node);
    if (root == roots_.end()) return "none";
    return fmt::format("{}: {}", root->second->stripes.size(), Progress(*root->second));
  }

  // Of the stripes that the slot makes.
  std::string Progress(const SlotInfo& slot) const {
    StripeMarks marks = layout_.empty_marks();
    for (const std::uint32_t stripe : slot.stripes) {
      if (stripe < layout_.stripe_count) marks[stripe] = layout_.stripe_block_count(stripe);
    }
    return ProgressText(slot.valid_bytes, layout_.valid_bytes(marks));
  }

  Layout layout_;
  std::map<std::uint32_t, const SlotInfo*> by_number_;
  std::map<std::string, const SlotInfo*> roots_;  // by their nodes
  std::vector<const SlotInfo*> passing_;
};

// The way from the last member back to the first.
std::string_view Border(std::size_t member, std::size_t members) {
  if (members == 1) return "     ";
  if (member == 0) return "┌──▶ ";
  return member + 1 == members ? "└─── " : "│    ";
}

}  // namespace

bool IsRing(const std::vector<SlotInfo>& slots) { return Ring(slots, 0).IsOne(); }

std::vector<std::string> DrawRing(const std::vector<SlotInfo>& slots, std::uint64_t size_bytes) {
  const Ring ring(slots, size_bytes);
  const std::vector<const SlotInfo*> members = ring.InTurn();
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < members.size(); ++i) {
    lines.push_back(fmt::format("{}{}", Border(i, members.size()), ring.Member(*members[i])));
  }
  return lines;
}

}  // namespace hoplite::cli
