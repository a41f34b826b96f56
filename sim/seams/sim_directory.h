// SimDirectory: the real shards and the real client of them, with a network between that delays,
// loses sessions, or says nothing for a while; and shards that are killed and come back empty.
//
// Decides nothing: it carries messages and does what failures do. All on one thread, in virtual time
// or in the machine's (SimNetwork); whoever looks on is told of every message. InProcessDirectory
// is the other stand-in: for nodes that have threads of their own, with nothing in between.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "base/time.h"
#include "directory/directory_client.h"
#include "directory/directory_service.h"
#include "sim/seams/sim_network.h"

namespace hoplite::directory {

struct SimShard;
class SimSession;

class SimDirectory {
 public:
  struct Settings {
    ServiceOptions service;
    std::size_t shards = 1;
    Pace pace;                 // of what nodes say
    bool state_files = false;  // shards have state files (R44); their clock stands still
    // Planted faults: a shard goes by the id that whoever comes first knows it by; a restarted shard
    // does not read its state file.
    bool first_decides = false;
    bool forgets_state = false;
  };
  SimDirectory(asio::io_context& loop, net::SimNetwork& network, const Settings& settings);
  ~SimDirectory();

  // The conversations of one process with the shards.
  class Access {
   public:
    // `foreign`: the process was in another cluster, and until told better it knows the shards by
    // ids of that one.
    explicit Access(bool foreign) : foreign_(foreign) {}
    // Nothing that the process still says is heard by anybody.
    void Die(net::Death death);

   private:
    friend class SimDirectory;
    friend class SimPort;
    const bool foreign_;
    std::vector<std::weak_ptr<SimSession>> sessions_;
    bool dead_ = false;
  };
  std::unique_ptr<DirectoryClient> MakeClient(asio::io_context& loop, net::HostId host,
                                              std::shared_ptr<Access> access);

  std::size_t shard_count() const { return shards_.size(); }
  // `heard` is told whatever a node says in an open session, when it is sent.
  void OnSaid(std::function<void(const wire::NodeMessage&)> heard);
  // `heard` is told whatever a shard answers, when it is sent.
  void OnAnswered(const std::function<void(const wire::ShardMessage&)>& heard);
  // `ended` is told of each session that one of its ends ended by its own word, not by a planted
  // fault and not because its process or shard is gone; and since when that was open.
  void OnEnded(const std::function<void(Time opened)>& ended);
  // `refused` is told of each node that holds objects of a shard and is refused by that as not of its
  // cluster (R44).
  void OnRefused(const std::function<void(NodeId, const Error&)>& refused);
  const planner::DirectoryState& state(std::size_t shard) const;
  bool up(std::size_t shard) const;
  std::uint64_t lives(std::size_t shard) const;  // how often it started
  void Kill(std::size_t shard);
  void Return(std::size_t shard);
  net::HostId host(std::size_t shard) const;
  // Ends a session of the process, for both sides.
  void BreakSession(Access& access, std::uint64_t which);

 private:
  const Pace pace_;
  std::vector<std::shared_ptr<SimShard>> shards_;
};

}  // namespace hoplite::directory
