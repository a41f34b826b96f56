#include "cli/demo/picture.h"

#include <algorithm>

namespace hoplite::cli::demo {

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

}  // namespace hoplite::cli::demo
