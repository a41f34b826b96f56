// Node: this process's member of the cluster, with its store and its data plane.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <hoplite/client.h>
#include <hoplite/config.h>
#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

// One number that a node counts or measures, as `hoplite node --metrics` shows it to Prometheus.
struct NodeMetric {
  std::string name;              // ends with its unit: "…_bytes", "…_seconds", "…_total"
  std::string label = {};        // by which those of one name differ; empty: there is only one
  std::string label_value = {};  // of `label`
  double value = 0;              // in the unit that the name ends with
  bool counter = false;          // it only grows while the node lives
};

// Owns its threads; blocks none of the caller's. All calls may come from any thread. In a forked
// child it is its parent's: Stop and the destructor do nothing, clients answer `unavailable`.
class HOPLITE_EXPORT Node {
 public:
  // Reserves the memory, listens, joins the directory. The directory need not be there yet: a
  // shard that can't be reached is tried for ever. Waits up to a second for each shard's first
  // answer, and 7 s for a name that is in use: the node that has it may have died just now.
  // Whoever asks `stop` to stop ends the wait.
  //   invalid_argument    a field of the configuration is wrong: says which
  //   resource_exhausted  not so much memory: says how much there is
  //   unavailable         an address or the socket is in use: says which
  //   already_exists      a live node has this name: says which
  //   cancelled           `stop` was asked to stop before the directory took the node
  static Result<std::unique_ptr<Node>> Start(const NodeConfig& config, std::stop_token stop = {});
  ~Node();  // stops
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // A client of this node in this process. Each call makes a connection of its own.
  Client client();
  std::string name() const;     // in the cluster
  std::string address() const;  // HOST:PORT of its data plane
  std::string socket() const;   // where worker processes attach; empty: nowhere

  // For how long no client has been attached, here or in a worker; zero while one is.
  std::chrono::milliseconds idle() const;

  // The shards that it has no session with now, by their addresses: objects of these can be neither
  // put nor found until it reaches them, which it goes on trying.
  std::vector<std::string> away() const;

  // Why the directory does not take this node any more; empty while it does. Another node took its
  // name while this one was cut off, for example. Clients answer `unavailable` from then on.
  std::optional<Error> refusal() const;

  // What it counts and measures (docs/observability.md has all names). Of a histogram the number and
  // the sum, "…_count" and "…_sum". Waits for a thread of the node. Empty in a forked child.
  std::vector<NodeMetric> Metrics() const;

  // Leaves the cluster: its objects are lost unless other nodes have them. Clients answer
  // `unavailable`; Buffers stay readable. Idempotent: a second thread waits for the first.
  void Stop();

 private:
  friend class NodeAccess;
  struct State;
  explicit Node(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hoplite
