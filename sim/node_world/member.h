// Member: one process of a node in the node world: the real parts, run by turns, on simulated
// seams. It can be frozen, and it can die: then nobody sees what it still does, but its tasks run
// on to their ends; that they do end is one of the properties.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/virtual_time.h"
#include "node/assembly.h"
#include "sim/node_world/options.h"
#include "sim/seams/sim_directory.h"
#include "sim/seams/sim_network.h"
#include "sim/seams/sim_transport.h"

namespace hoplite::node_world {

class Member {
 public:
  // What a member is made of and shares with others.
  struct Surroundings {
    VirtualTime& time;
    const net::InternetPtr& internet;
    directory::SimDirectory& shards;
    const Options& options;
    bool foreign = false;  // it knows the shards by the ids of another cluster
  };

  // `number` tells processes apart, also those of one host.
  Member(const Surroundings& around, std::uint32_t index, net::HostId host, std::uint64_t number,
         std::shared_ptr<store::SharedSegment> segment);
  ~Member() {
    if (disk_) disk_->Close();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  Result<void> Start();

  // Runs what is ready on its loops, starting with a given one; false if nothing was.
  bool RunReady(std::uint64_t first_loop);
  // How many turns its loops have run.
  std::uint64_t turns() const { return turns_; }

  void Freeze(Time until);
  void Thaw() { frozen_until_ = std::min(frozen_until_, time_.Now()); }
  void Die(net::Death death);
  // Leaves in order, as Node::Stop does.
  void Stop();
  // No task is left: it may be destroyed.
  bool over() const { return leaving_ && assembly_->runtime.tasks() == 0; }

  // An object that others depend on and that waits for a place among the fetches (R46), or null.
  // Between two turns of a moment there may be one; its node has yet to run.
  const ObjectId* HeldUp() const;

  bool up() const { return !leaving_; }
  Time frozen_until() const { return frozen_until_; }
  std::uint32_t index() const { return index_; }
  net::HostId host() const { return host_; }
  const std::string& name() const { return assembly_->settings.name; }
  node::Assembly& assembly() { return *assembly_; }
  SimDisk* disk() { return disk_.get(); }  // null: it has none
  directory::SimDirectory::Access& access() { return *access_; }

 private:
  VirtualTime& time_;
  const std::uint32_t index_;
  const net::HostId host_;
  const bool spins_;  // a planted fault: whoever waits for memory asks again at once
  const std::shared_ptr<directory::SimDirectory::Access> access_;
  std::shared_ptr<SimDisk> disk_;
  net::SimTransport* transport_ = nullptr;  // owned by the assembly
  std::unique_ptr<node::Assembly> assembly_;
  std::vector<asio::io_context*> loops_;
  Time frozen_until_{};
  std::uint64_t turns_ = 0;
  bool leaving_ = false;
};

}  // namespace hoplite::node_world
