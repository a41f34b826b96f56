#include "directory/admission.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/try.h"
#include "directory/cluster_id.h"

namespace hoplite::directory {

namespace {

std::unexpected<Error> Refuse(std::string why) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(why)));
}

}  // namespace

Admission::Admission(std::vector<std::string> shards, std::string cluster, std::string own_address)
    : shards_(std::move(shards)), cluster_(std::move(cluster)) {
  if (shards_.empty()) return;
  cluster_id_ = ClusterId(shards_, cluster_);
  const auto own = std::ranges::find(shards_, own_address);
  if (own != shards_.end()) own_index_ = static_cast<std::size_t>(own - shards_.begin());
}

Result<void> Admission::Check(const wire::Hello& hello) const {
  if (hello.protocol != wire::kDirectoryProtocol) {
    return Refuse(
        fmt::format("node '{}' speaks version {} of the directory protocol, this shard {}",
                    hello.node.name, hello.protocol, wire::kDirectoryProtocol));
  }
  if (hello.cluster != cluster_) {
    return Refuse(fmt::format("node '{}' belongs to cluster '{}', this shard to '{}'",
                              hello.node.name, hello.cluster, cluster_));
  }
  return CheckShards(hello);
}

Result<void> Admission::CheckShards(const wire::Hello& hello) const {
  const std::size_t count = shards_.empty() ? 1 : shards_.size();
  if (hello.shard_count != count) {
    return Refuse(fmt::format("node '{}' names {} directory shards, this shard knows {}",
                              hello.node.name, hello.shard_count, count));
  }
  if (own_index_ && hello.shard_index != *own_index_) {
    return Refuse(fmt::format("node '{}' takes this shard for number {} of the list, it is {}",
                              hello.node.name, hello.shard_index, *own_index_));
  }
  if (!cluster_id_ || hello.cluster_id == *cluster_id_) return {};
  if (shards_.empty()) {
    return Refuse(fmt::format(
        "node '{}' writes the address of the directory otherwise than the nodes that are here",
        hello.node.name));
  }
  return Refuse(fmt::format("node '{}' has another list of directory shards than this shard: {}",
                            hello.node.name, fmt::join(shards_, ",")));
}

void Admission::Joined(const wire::Hello& hello) {
  if (!cluster_id_) cluster_id_ = hello.cluster_id;
}

void Admission::Emptied() {
  if (shards_.empty()) cluster_id_.reset();
}

}  // namespace hoplite::directory
