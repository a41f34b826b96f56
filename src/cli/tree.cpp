#include "cli/tree.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/ring.h"

namespace hoplite::cli {
namespace {

class TreeDrawing {
 public:
  TreeDrawing(const std::map<std::string, std::string>& fed_by,
              const std::map<std::string, std::string>& notes)
      : notes_(notes) {
    for (const auto& [node, source] : fed_by) children_[source].push_back(node);
  }

  void AddRoot(const std::string& node) {
    if (drawn_.insert(node).second) AddSubtree(node, "", "");
  }
  bool drawn(const std::string& node) const { return drawn_.contains(node); }
  std::vector<std::string> TakeLines() { return std::move(lines_); }

 private:
  void AddSubtree(const std::string& node, const std::string& here, const std::string& below) {
    const auto note = notes_.find(node);
    lines_.push_back(here + node + (note == notes_.end() ? "" : "  " + note->second));
    const std::vector<std::string>& children = children_[node];
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!drawn_.insert(children[i]).second) continue;
      const bool last = i + 1 == children.size();
      AddSubtree(children[i], below + (last ? "└─ " : "├─ "), below + (last ? "   " : "│  "));
    }
  }

  const std::map<std::string, std::string>& notes_;
  std::map<std::string, std::vector<std::string>> children_;
  std::set<std::string> drawn_;
  std::vector<std::string> lines_;
};

std::vector<std::string> DrawOneTree(const std::vector<SlotInfo>& slots, std::uint64_t size_bytes) {
  std::uint32_t highest = 0;
  for (const SlotInfo& slot : slots) highest = std::max(highest, slot.slot);
  // Numbers are as wide as the widest, so that the order of texts is the order of numbers.
  const std::size_t width = std::to_string(highest).size();
  std::map<std::uint32_t, std::string> labels;
  for (const SlotInfo& slot : slots) {
    labels[slot.slot] =
        fmt::format("{:>{}} {}", slot.slot, width, slot.node.empty() ? "vacant" : slot.node);
  }
  std::map<std::string, std::string> fed_by;
  std::map<std::string, std::string> notes;
  std::vector<std::string> roots;
  for (const SlotInfo& slot : slots) {
    const std::string& label = labels[slot.slot];
    if (const auto parent = labels.find(slot.parent); parent != labels.end()) {
      fed_by[label] = parent->second;
    } else {
      roots.push_back(label);
    }
    if (slot.node.empty()) continue;
    notes[label] = SourcesText(slot) + ", " + ProgressText(slot.valid_bytes, size_bytes);
  }
  return DrawTree(fed_by, roots, notes);
}

// What makes some of the root's stripes, each with the slot that folds those as its parent.
std::vector<SlotInfo> TreeBelow(const SlotInfo& root, const std::vector<SlotInfo>& slots) {
  const std::set<std::uint32_t> stripes(root.stripes.begin(), root.stripes.end());
  const auto in_it = [&](const SlotInfo& slot) {
    return std::ranges::any_of(slot.stripes, [&](std::uint32_t s) { return stripes.contains(s); });
  };
  std::set<std::uint32_t> folding;
  for (const SlotInfo& slot : slots | std::views::filter(in_it)) folding.insert(slot.slot);
  std::vector<SlotInfo> tree;
  for (SlotInfo slot : slots | std::views::filter(in_it)) {
    const auto parent = std::ranges::find_if(
        slot.parents, [&](std::uint32_t above) { return folding.contains(above); });
    if (parent != slot.parents.end()) slot.parent = *parent;
    // Of what a childless slot has, about so much is in this tree.
    slot.valid_bytes =
        slot.valid_bytes * root.stripes.size() / std::max(slot.stripes.size(), root.stripes.size());
    tree.push_back(std::move(slot));
  }
  return tree;
}

}  // namespace

std::vector<std::string> DrawTree(const std::map<std::string, std::string>& fed_by,
                                  const std::vector<std::string>& roots,
                                  const std::map<std::string, std::string>& notes) {
  TreeDrawing drawing(fed_by, notes);
  for (const std::string& root : roots) drawing.AddRoot(root);
  for (const auto& [node, source] : fed_by) {
    if (!fed_by.contains(source)) drawing.AddRoot(source);
  }
  // Edges that were seen at different moments may make a circle, whose members are shown all the
  // same.
  for (const auto& [node, source] : fed_by) {
    if (!drawing.drawn(node)) drawing.AddRoot(node);
  }
  return drawing.TakeLines();
}

std::vector<std::string> DrawReduction(const std::vector<SlotInfo>& slots,
                                       std::uint64_t size_bytes) {
  if (IsRing(slots)) return DrawRing(slots, size_bytes);
  const auto is_root = [](const SlotInfo& slot) { return slot.parent == 0; };
  if (std::ranges::count_if(slots, is_root) < 2) return DrawOneTree(slots, size_bytes);
  std::size_t all = 0;  // stripes
  for (const SlotInfo& slot : slots) all += is_root(slot) ? slot.stripes.size() : 0;
  std::vector<std::string> lines;
  for (const SlotInfo& root : slots | std::views::filter(is_root)) {
    lines.push_back(fmt::format("stripes {}:", fmt::join(root.stripes, " ")));
    const std::uint64_t part = size_bytes * root.stripes.size() / std::max(all, std::size_t{1});
    for (const std::string& line : DrawOneTree(TreeBelow(root, slots), part)) {
      lines.push_back("  " + line);
    }
  }
  return lines;
}

std::string SourcesText(const SlotInfo& slot) {
  const std::size_t sources = slot.inputs.size();
  return fmt::format("{} source{}", sources == 0 ? "no" : std::to_string(sources),
                     sources > 1 ? "s" : "");
}

std::string ProgressText(std::uint64_t valid_bytes, std::uint64_t size_bytes) {
  return size_bytes == 0 ? FormatSize(valid_bytes) : Share(valid_bytes, size_bytes);
}

std::string Share(std::uint64_t valid_bytes, std::uint64_t size_bytes) {
  const double share =
      size_bytes == 0 ? 1.0 : static_cast<double>(valid_bytes) / static_cast<double>(size_bytes);
  return fmt::format("{:.0f} %", share * 100);
}

}  // namespace hoplite::cli
