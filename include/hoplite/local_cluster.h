// LocalCluster: a directory and some nodes in this process, for tests and examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <hoplite/client.h>
#include <hoplite/export.h>
#include <hoplite/node.h>
#include <hoplite/result.h>

namespace hoplite {

// Of LocalCluster::Start.
struct LocalClusterOptions {
  std::size_t nodes = 2;                          // named n0, n1, ...
  std::uint64_t memory_bytes = 64 * 1024 * 1024;  // of each node, at least 1 MiB
  // Limit of bytes a second of each node, in each direction; 0: none.
  std::uint64_t rate_bytes_per_second = 0;
  std::string spill_folder = {};        // as in NodeConfig
  std::uint64_t spill_limit_bytes = 0;  // of each node
};

// The nodes talk over loopback as they would over a network, each with threads of its own. To see
// processes die, use `hoplite up`, which makes every member a process.
class HOPLITE_EXPORT LocalCluster {
 public:
  // Starts the directory, then one node after the other.
  //   (Directory::Start's and Node::Start's)
  static Result<std::unique_ptr<LocalCluster>> Start(const LocalClusterOptions& options = {});
  ~LocalCluster();  // stops; nothing in a forked child, whose parent's it is
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  std::size_t size() const;               // how many nodes it has
  Node& node(std::size_t index);          // index < size()
  Client client(std::size_t index);       // a new client of that node
  std::string directory_address() const;  // HOST:PORT, for further nodes
  void Stop();                            // the nodes, then the directory; as Node::Stop says

 private:
  struct State;
  explicit LocalCluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hoplite
