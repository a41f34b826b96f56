#include "cli/demo/picture.h"

#include <algorithm>
#include <set>

namespace hoplite::cli::demo {
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

}  // namespace

Picture Picture::Of(const ClusterStatus& status, const ObjectId& object) {
  Picture picture;
  for (const ObjectInfo& candidate : status.objects) {
    if (candidate.id != object) continue;
    for (const TransferInfo& transfer : candidate.transfers) {
      picture.fed_by[transfer.to] = transfer.from;
      picture.valid_bytes[transfer.to] = transfer.valid_bytes;
    }
    for (const HolderInfo& holder : candidate.holders) {
      std::uint64_t& bytes = picture.valid_bytes[holder.node];
      bytes = std::max(bytes, holder.complete ? candidate.size_bytes : holder.valid_bytes);
    }
  }
  return picture;
}

std::uint64_t Picture::bytes_of(const std::string& node) const {
  const auto found = valid_bytes.find(node);
  return found == valid_bytes.end() ? 0 : found->second;
}

bool Picture::relays(const std::string& node) const {
  return std::ranges::any_of(fed_by, [&](const auto& edge) { return edge.second == node; });
}

std::vector<Rerouted> History::Add(const Picture& picture) {
  std::vector<Rerouted> changes;
  for (const auto& [node, source] : picture.fed_by) {
    std::vector<std::string>& known = sources_[node];
    if (!known.empty() && known.back() == source) continue;
    if (!known.empty()) {
      changes.push_back({node, known.back(), source, picture.bytes_of(node)});
    }
    known.push_back(source);
  }
  return changes;
}

std::vector<std::string> DrawTree(const std::map<std::string, std::string>& fed_by,
                                  const std::vector<std::string>& roots,
                                  const std::map<std::string, std::string>& notes) {
  TreeDrawing drawing(fed_by, notes);
  for (const std::string& root : roots) drawing.AddRoot(root);
  for (const auto& [node, source] : fed_by) {
    if (!fed_by.contains(source)) drawing.AddRoot(source);
  }
  // Only edges of different moments can make a circle; show its members all the same.
  for (const auto& [node, source] : fed_by) {
    if (!drawing.drawn(node)) drawing.AddRoot(node);
  }
  return drawing.TakeLines();
}

}  // namespace hoplite::cli::demo
