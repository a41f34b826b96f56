// Connects: to which peers this node can't connect, so that its log says so once, and not with each
// of the attempts of every second.
//
// Decides: whether an attempt is news. Is told: how attempts ended. Must never: grow with the peers
// that are gone for good beyond its limit. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "base/mutex.h"
#include "protocol/node_info.h"

namespace hoplite::node {

class Connects {
 public:
  // A line for the log; empty: nothing new.
  std::string Failed(const protocol::NodeInfo& peer, const std::string& why);
  std::string Succeeded(const protocol::NodeInfo& peer);

 private:
  static constexpr std::size_t kMostPeers = 1000;

  Mutex mutex_;
  // By address: each cause since the last success.
  std::map<std::string, std::set<std::string>> failing_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::node
