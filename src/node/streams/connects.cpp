#include "node/streams/connects.h"

#include <fmt/format.h>

namespace hoplite::node {

// Two causes that take turns are told once each.
std::string Connects::Failed(const protocol::NodeInfo& peer, const std::string& why) {
  const MutexLock lock(mutex_);
  if (failing_.size() >= kMostPeers && !failing_.contains(peer.address)) failing_.clear();
  if (!failing_[peer.address].insert(why).second) return {};
  return fmt::format("can't reach node {}: {}", peer.name, why);
}

std::string Connects::Succeeded(const protocol::NodeInfo& peer) {
  const MutexLock lock(mutex_);
  if (failing_.erase(peer.address) == 0) return {};
  return fmt::format("node {} at {} is reached again", peer.name, peer.address);
}

}  // namespace hoplite::node
