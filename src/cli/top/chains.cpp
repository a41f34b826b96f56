#include "cli/top/chains.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/top/width.h"

namespace hoplite::cli::top {
namespace {

const std::string kArrow = " ─▶ ";

class Drawing {
 public:
  Drawing(const std::map<std::string, std::string>& fed_by,
          const std::map<std::string, std::string>& notes, std::size_t width)
      : notes_(notes), width_(width) {
    for (const auto& [node, source] : fed_by) children_[source].push_back(node);
  }

  void AddRoot(const std::string& node) {
    if (drawn_.insert(node).second) AddChain({Label(node)}, node, 0);
  }
  bool drawn(const std::string& node) const { return drawn_.contains(node); }
  std::vector<std::string> TakeLines() { return std::move(lines_); }

 private:
  struct Branch {
    std::string from;
    std::string to;
  };

  std::string Label(const std::string& node) const {
    const auto note = notes_.find(node);
    return note == notes_.end() ? node : node + " " + note->second;
  }

  // How many stand behind it, and it itself. Edges that were seen at different moments may make a
  // circle, so each is counted once.
  std::size_t Behind(const std::string& node) {
    const auto known = behind_.find(node);
    if (known != behind_.end()) return known->second;
    behind_[node] = 1;
    std::size_t count = 1;
    for (const std::string& child : children_[node]) count += Behind(child);
    return behind_[node] = count;
  }

  // The chain whose last link is `node`, and what branches off from it.
  void AddChain(std::vector<std::string> links, std::string node, std::size_t depth) {
    std::vector<Branch> branches;
    for (;;) {
      std::vector<std::string> next = children_[node];
      std::erase_if(next, [&](const std::string& child) { return !drawn_.insert(child).second; });
      if (next.empty()) break;
      const auto most = std::ranges::max_element(
          next, {}, [&](const std::string& child) { return Behind(child); });
      for (auto child = next.begin(); child != next.end(); ++child) {
        if (child != most) branches.push_back({node, *child});
      }
      node = *most;
      links.push_back(Label(node));
    }
    Write(links, depth);
    for (const Branch& branch : branches) {
      AddChain({branch.from, Label(branch.to)}, branch.to, depth + 1);
    }
  }

  void Write(const std::vector<std::string>& links, std::size_t depth) {
    std::string line(2 * depth, ' ');
    bool first = true;
    for (const std::string& link : links) {
      if (!first && width_ > 0 && Width(line) + Width(kArrow) + Width(link) > width_) {
        lines_.push_back(std::exchange(line, std::string(2 * depth, ' ')));
      }
      if (!std::exchange(first, false)) line += kArrow;
      line += link;
    }
    lines_.push_back(std::move(line));
  }

  const std::map<std::string, std::string>& notes_;
  const std::size_t width_;
  std::map<std::string, std::vector<std::string>> children_;
  std::map<std::string, std::size_t> behind_;
  std::set<std::string> drawn_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> DrawChains(const std::map<std::string, std::string>& fed_by,
                                    const std::vector<std::string>& roots,
                                    const std::map<std::string, std::string>& notes,
                                    std::size_t width) {
  Drawing drawing(fed_by, notes, width);
  for (const std::string& root : roots) {
    if (!fed_by.contains(root)) drawing.AddRoot(root);
  }
  for (const auto& [node, source] : fed_by) {
    if (!fed_by.contains(source)) drawing.AddRoot(source);
  }
  for (const auto& [node, source] : fed_by) {
    if (!drawing.drawn(node)) drawing.AddRoot(node);
  }
  return drawing.TakeLines();
}

}  // namespace hoplite::cli::top
