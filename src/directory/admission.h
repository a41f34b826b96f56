// Admission: whether a node that says Hello belongs to this shard's cluster.
//
// Decides: by protocol version, cluster name and list of shards. Is told: Hellos, and when the last
// node is gone. Must never let in a node that would look for objects on other shards than the nodes
// already here do. Pure; names of nodes are the business of Members.
//
// The list of shards: one given in the configuration is compared with the node's. A shard may also
// have none: it listens on port 0 or on 0.0.0.0, so it can't know the address that nodes call it
// by. It must then be the only one (a node that names several is refused), and takes the list of
// the first node that joins as the list of all, for as long as any node is here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "wire/directory_session.h"

namespace hoplite::directory {

class Admission {
 public:
  // own_address: as it is written in `shards`; elsewhere written otherwise, the node's word counts.
  Admission(std::vector<std::string> shards, std::string cluster, std::string own_address);

  // Refusals name both sides' values.
  Result<void> Check(const wire::Hello& hello) const;
  void Joined(const wire::Hello& hello);
  void Emptied();

 private:
  Result<void> CheckShards(const wire::Hello& hello) const;

  std::vector<std::string> shards_;
  std::string cluster_;
  std::optional<std::size_t> own_index_;
  std::optional<std::uint64_t> cluster_id_;
};

}  // namespace hoplite::directory
