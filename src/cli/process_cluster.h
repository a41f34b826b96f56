// ProcessCluster: a directory and some nodes on this machine, each a process of its own, with their
// sockets in a private folder. Ends them all and removes the folder when it goes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "cli/child_process.h"
#include "cli/output.h"
#include "cli/private_folder.h"
#include "cli/stop_signal.h"

namespace hoplite::cli {

struct ProcessClusterOptions {
  std::uint64_t memory_bytes = 0;           // of each node
  std::uint64_t rate_bytes_per_second = 0;  // of each node, each direction; 0: no limit
  std::string spill_folder = {};            // where nodes write what they put; empty: nowhere
  std::uint64_t spill_limit_bytes = 0;      // of each node
  std::uint32_t spill_nodes = 1;            // so many on that disk
  std::string cluster = {};                 // its name
  std::string secret_file = {};             // of all members; empty: they have none
  std::string certs = {};                   // the folder that `hoplite certs` made, instead
  bool readable_secrets = false;            // as in SecurityConfig
  std::string admin = {};                   // where programs ask the directory; empty: nowhere
  std::string web = {};                     // where the directory serves its page; empty: nowhere
  // HOST:PORT where Prometheus scrapes the directory; the nodes have the ports after it. With port 0
  // each picks one. Empty: nowhere.
  std::string metrics = {};
};

class ProcessCluster {
 public:
  struct Node {
    std::string name;
    std::string address;
    std::string socket;
    std::string metrics;  // empty: not asked for
    ChildProcess process;
  };

  // What this process needs for a cluster of so many nodes, beside what the nodes need themselves.
  static std::size_t DescriptorsFor(std::size_t nodes) { return 16 + 2 * (nodes + 1); }

  // Starts the directory. What waits here ends with `cancelled` when `stop` says so, which must
  // outlive the cluster.
  static Result<ProcessCluster> Start(const ProcessClusterOptions& options, const StopSignal& stop);
  ~ProcessCluster();
  ProcessCluster(ProcessCluster&&) noexcept = default;
  ProcessCluster& operator=(ProcessCluster&&) = delete;

  // Starts nodes side by side; returns when all of them are ready. References to nodes stay good.
  Result<void> AddNodes(const std::vector<std::string>& names);

  const std::string& directory_address() const { return directory_address_; }
  // These are empty if they were not asked for.
  const std::string& admin_address() const { return admin_address_; }
  const std::string& web_address() const { return web_address_; }
  const std::string& metrics_address() const { return metrics_address_; }
  ChildProcess& directory() { return directory_; }
  std::deque<Node>& nodes() { return nodes_; }

 private:
  ProcessCluster(const ProcessClusterOptions& options, const StopSignal& stop, PrivateFolder folder,
                 ChildProcess directory);
  // Its ready line, which has an address.
  Result<Json> WaitUntilReady(ChildProcess& process, const std::string& who) const;
  // `index`: of the member: 0 of the directory, 1 of the first node.
  static Result<ChildProcess> StartMember(std::vector<std::string> arguments, std::size_t index,
                                          const ProcessClusterOptions& options);
  Result<ChildProcess> StartNode(const std::string& name, const std::string& socket,
                                 std::size_t index) const;

  ProcessClusterOptions options_;
  const StopSignal* stop_;
  PrivateFolder folder_;
  ChildProcess directory_;
  std::string directory_address_;
  std::string admin_address_;
  std::string web_address_;
  std::string metrics_address_;
  std::deque<Node> nodes_;
};

}  // namespace hoplite::cli
