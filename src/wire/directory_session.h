// What a node and a directory shard say to each other, as own types: the gRPC session carries them
// as protobuf (directory_messages.h), the in-process directory hands them over as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/time.h"
#include "planner/action.h"
#include "planner/event.h"

namespace hoplite::wire {

inline constexpr std::uint32_t kDirectoryProtocol = 1;

// A node introduces itself.
struct Hello {
  std::uint32_t protocol = kDirectoryProtocol;
  planner::NodeInfo node;
  std::string cluster;
  std::uint64_t cluster_id = 0;  // directory::ClusterId of the node's own list
  std::size_t shard_index = 0;
  std::size_t shard_count = 1;
  std::uint64_t highest_incarnation = 0;  // of all versions that it has seen from this shard
};

// The shard accepts it, and says how to behave.
struct Welcome {
  std::uint64_t incarnation = 0;  // names this life of the shard
  Duration heartbeat{0};
  Duration lease{0};
  Duration tombstone{0};
  bool remembered = false;  // the shard still has what this node said in its last session
};

// Why a session was refused or ends.
struct Ended {
  Error error;
  bool retry = true;  // false: joining again can't succeed
};

// The parts of a message are meant in this order.
struct NodeMessage {
  std::optional<Hello> hello;
  std::vector<planner::NodeEvent> events;
  std::optional<std::uint64_t> heartbeat;
};

struct ShardMessage {
  std::optional<Welcome> welcome;
  std::vector<planner::NodeAction> actions;
  std::optional<std::uint64_t> heartbeat_ack;
  std::optional<Ended> ended;
};

}  // namespace hoplite::wire
