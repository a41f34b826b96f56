// Registers: which registers the clients of this node have open, and what they ask of them.
//
// planner::RegisterState decides, for each shard, what it is told and what whoever asked is answered;
// this knows which shard that is, and carries out what is decided.
//
// Decides: how a call ends that is not answered. Is told: what clients ask, what shards say, sessions.
// Must never: leave a register open whose client is gone. Main loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "directory/directory_client.h"
#include "node/core/operations.h"
#include "planner/node/register_state.h"

namespace hoplite::node {

class Registers {
 public:
  // if_away: as Context::IfAway.
  Registers(directory::DirectoryClient& directory,
            std::function<std::string(const ObjectId&)> if_away);

  std::shared_ptr<OpenRegister> Open(const std::string& name);
  // Calls, new ones too, are answered with this from now on.
  void Stop(const Error& why);

  // --- what a shard says, and is told in a new session
  void Hear(const protocol::RegisterNews& news);
  void OnSession(std::size_t shard, bool open);
  std::uint64_t number(std::size_t shard) const { return shards_.at(shard).number(); }
  std::optional<protocol::RegisterUse> Inventory(const ObjectId& id) {
    return StateOf(id).Inventory(id);
  }
  std::vector<ObjectId> After(std::size_t shard, const std::optional<ObjectId>& id,
                              std::size_t most) const {
    return shards_.at(shard).After(id, most);
  }

 private:
  class Handle;
  class Asking;
  using State = planner::RegisterState;

  std::size_t ShardOf(const ObjectId& id) const;
  State& StateOf(const ObjectId& id) { return shards_[ShardOf(id)]; }
  void Carry(const State::Effects& effects);

  directory::DirectoryClient& directory_;
  const std::function<std::string(const ObjectId&)> if_away_;
  std::vector<State> shards_;
  std::map<State::Ticket, Asking*> asking_;
  std::uint64_t names_ = 0;  // given to handles and tickets
  std::optional<Error> stopped_;
};

}  // namespace hoplite::node
