// A cluster in one process for tests: the in-process directory and real nodes over TCP on the
// loopback.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <hoplite/client.h>

#include "base/units.h"
#include "client/client_access.h"
#include "node/node.h"
#include "sim/seams/in_process_directory.h"
#include "store/disk.h"
#include "store/segment.h"
#include "testing/eventually.h"

namespace hoplite::testing {

// For what comes in a moment, on a machine that may be busy.
inline const CallOptions kSoon{.timeout = std::chrono::seconds(60)};

// A loop with its own thread.
class LoopThread {
 public:
  LoopThread() : guard_(asio::make_work_guard(loop_)), thread_([this] { loop_.run(); }) {}
  ~LoopThread() { Join(); }
  asio::io_context& loop() { return loop_; }
  void Join() {
    guard_.reset();
    loop_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::thread thread_;
};

struct ClusterOptions {
  std::size_t nodes = 2;
  std::uint64_t memory_bytes = 64_MiB;
  std::string socket;  // for worker processes; of one node only
  std::uint64_t rate_bytes_per_second = 0;
  // Where nodes may write what was put, and how much; empty: nowhere.
  std::string spill_folder;
  std::uint64_t spill_limit_bytes = 0;
  // Instead of a file there.
  std::function<Result<std::shared_ptr<store::Disk>>(const std::string&, std::uint64_t)> disk;
  SecurityConfig security = {};  // between nodes
  // Sanitizers and shared machines are slow: a test that isn't about silence must not end by it.
  std::chrono::milliseconds stall = std::chrono::seconds(10);
  std::chrono::milliseconds keepalive = std::chrono::milliseconds(200);
  directory::InProcessDirectory::Options directory = directory::InProcessDirectory::Patient();
  // Puts something between the nodes and their network.
  std::function<std::unique_ptr<net::Transport>(std::unique_ptr<net::Transport>)> between;
};

// A new client of this node, in its process.
Client ClientOf(node::Node& node);

class Cluster {
 public:
  explicit Cluster(ClusterOptions options);
  ~Cluster();

  std::size_t size() const { return nodes_.size(); }
  node::Node& node(std::size_t i) { return *nodes_[i]; }
  directory::InProcessDirectory& directory() { return *directory_; }
  // The node's id, which the directory knows. Waits for its answer.
  NodeId id(std::size_t i);
  bool has_session(NodeId node);
  Result<protocol::ObjectView> Find(const ObjectId& object);
  // A new client of node i.
  Client client(std::size_t i) { return ClientOf(*nodes_[i]); }
  // While what this returns lives, the directory does nothing, as a stopped process does.
  std::shared_ptr<void> StopDirectory();
  // Stops node i as a process that exits would: its streams end.
  void Stop(std::size_t i) { nodes_[i]->Stop(); }
  // One more node, perhaps with other options; gives its index.
  std::size_t Add(const ClusterOptions& options);

 private:
  std::vector<protocol::NodeView> Members();

  ClusterOptions options_;
  LoopThread directory_thread_;
  std::unique_ptr<directory::InProcessDirectory> directory_;
  // The client of no member; on the directory's loop.
  std::unique_ptr<directory::DirectoryClient> observer_;
  std::vector<std::unique_ptr<node::Node>> nodes_;
};

// Bytes that tell where they came from: different for each seed and position.
std::string Pattern(std::uint64_t size, std::uint64_t seed);
std::string Text(const Buffer& buffer);

using test::Eventually;

// Polls until a Get is told that the object was deleted: a node hears of what another one deleted,
// or of an owner's end, a moment after the shard does, and gives its own copy until then.
bool SoonDeleted(Client client, const ObjectId& id);

}  // namespace hoplite::testing
