// KnownShards: by which ids a node knows the shards of its cluster (docs/protocol.md, R44). Its
// links share it: each is told by its own shard, and tells its shard of all. On the node's loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hoplite::directory {

class KnownShards {
 public:
  explicit KnownShards(std::size_t count) : ids_(count) {}

  void Told(std::size_t shard, std::uint64_t id) { ids_.at(shard) = id; }
  const std::vector<std::uint64_t>& ids() const { return ids_; }
  // One of them has welcomed this node.
  bool any() const {
    return std::ranges::any_of(ids_, [](std::uint64_t id) { return id != 0; });
  }

 private:
  std::vector<std::uint64_t> ids_;  // 0: not told yet
};

}  // namespace hoplite::directory
