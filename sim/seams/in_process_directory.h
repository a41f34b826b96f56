// InProcessDirectory: a directory of any number of shards inside this process, for tests of nodes
// and for benchmarks: the real service and the real client without a socket between them.
//
// Decides nothing: what is said is posted to the other side's loop at once. Its shards run on one
// loop; each client lives on its node's own loop, which may be the same or run on another thread.
// It can also do to a node what failures do. SimDirectory is the other stand-in: with a network in
// between, all on one thread; a network's delays and faults have no order that could be replayed
// where threads run.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <asio/io_context.hpp>

#include "base/ids.h"
#include "base/time.h"
#include "directory/directory_client.h"
#include "directory/directory_service.h"

namespace hoplite::directory {

struct InProcessShard;

class InProcessDirectory {
 public:
  struct Options {
    std::size_t shards = 1;
    // Its planner.incarnation is that of the first life; each restart adds one.
    ServiceOptions service;
    // Of the first shards, where they differ from the others.
    std::vector<std::uint64_t> inline_limits;
  };
  // For tests that may be slow: leases last for ever, so no node is lost, and there is nothing to
  // collect at the start.
  static Options Patient();

  explicit InProcessDirectory(asio::io_context& loop, const Options& options = Patient());
  // To be destroyed after the clients were stopped, on the loop or when that no longer runs.
  ~InProcessDirectory();

  // For a node that lives on `loop`. Must not outlive this directory.
  std::unique_ptr<DirectoryClient> MakeClient(asio::io_context& loop);

  // Any thread; these take effect on the directory's loop. Cut ends a node's sessions, and it can't
  // come back: it is suspended, and lost when its grace is over or Lose is called.
  void Cut(NodeId node);
  void Lose(NodeId node);
  void Reconnect(NodeId node);
  // The shard forgets everything, as a killed and started process does.
  void Restart(std::size_t shard);

 private:
  std::vector<std::shared_ptr<InProcessShard>> shards_;
};

}  // namespace hoplite::directory
