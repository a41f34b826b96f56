// Node: one member of the cluster with threads of its own, started and stopped in order; nothing
// else.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "base/metric.h"
#include "base/mutex.h"
#include "node/core/context.h"
#include "node/core/environment.h"
#include "store/segment.h"

namespace hoplite::node {

class LocalEndpoint;
struct Assembly;

class Node {
 public:
  static Result<std::unique_ptr<Node>> Start(const NodeConfig& config, std::stop_token stop = {});
  static Result<std::unique_ptr<Node>> Start(const NodeConfig& config, Environment environment,
                                             std::stop_token stop = {});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const;
  const std::string& address() const;
  const std::string& socket() const;
  const Counters& counters() const;
  // Why the directory does not take this node any more; empty while it does.
  std::optional<Error> refusal() const;
  // From outside the node's threads only:
  store::StoreUsage usage() const;
  // What it counts and measures. Waits for the main loop; after Stop it is what was there then.
  Metrics metrics() const;
  Duration idle() const;                  // for how long no client has been attached
  std::vector<std::string> away() const;  // addresses of the shards that it has no session with
  // One end of a socketpair; a session of the local protocol answers at the other.
  Result<int> AttachLocal();
  // This process's mapping of the objects' memory; valid as long as any client's buffer needs it.
  std::shared_ptr<store::SharedSegment> segment();
  // Refuses new calls, ends conversations and flights, leaves the directory, stops threads.
  // Idempotent; whichever thread comes second waits for the first.
  void Stop();

 private:
  explicit Node(std::unique_ptr<Assembly> parts);
  std::unique_ptr<Assembly> assembly_;
  std::unique_ptr<LocalEndpoint> endpoint_;
  std::atomic<bool> stopped_{false};
  Mutex stopping_;                   // held by Stop
  bool abandoned_ = false;           // a task did not end: what it refers to is kept for good
  mutable std::shared_mutex loops_;  // shared by who speaks to the loops; alone ends them
};

}  // namespace hoplite::node
