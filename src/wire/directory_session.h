// What a node and a directory shard say to each other, as own types: a session carries them as
// protobuf (directory_messages.h), the in-process directory hands them over as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/limits.h"
#include "base/time.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"
#include "protocol/views.h"

namespace hoplite::wire {

inline constexpr std::uint32_t kDirectoryProtocol = 18;

// A node introduces itself.
struct Hello {
  std::uint32_t protocol = kDirectoryProtocol;
  protocol::NodeInfo node;
  std::string cluster;
  std::size_t shard_index = 0;
  std::size_t shard_count = 1;
  std::uint64_t highest_incarnation = 0;  // of all versions that it has seen from this shard
  std::uint64_t shard_id = 0;      // by which the node knows the shard; 0: it was not told yet
  bool holds = false;              // the node has copies of objects of this shard
  std::uint64_t owner_number = 0;  // the highest of any Owner, Owned or owned request that it gave
  std::uint64_t register_number = 0;  // likewise of any RegisterUse
};

// The shard accepts it, and says how to behave.
struct Welcome {
  std::uint64_t incarnation = 0;  // names this life of the shard
  Duration heartbeat{0};
  Duration lease{0};
  Duration tombstone{0};
  Duration orphan_grace{0};  // a client that died still owns what it owned for so long
  bool remembered = false;   // the shard still has what this node said in its last session
  std::uint64_t shard_id = 0;
  std::uint64_t inline_limit_bytes = kMaxInlineBytes;  // it keeps the bytes of no larger object
  protocol::ShardMembers members = {};
};

// Why a session was refused or ends.
struct Ended {
  Error error{ErrorCode::kInternal, ""};
  bool retry = true;                    // false: joining again can't succeed
  protocol::ShardMembers members = {};  // some: this one does not hold the shard
};

// Why a question has no other answer.
struct NoAnswer {
  Error error{ErrorCode::kInternal, ""};
  protocol::ShardMembers members = {};  // some: this one does not hold the shard
};

// The parts of a message are meant in this order. `number` and `taken` pace events and actions, see
// directory/session_outbox.h.
struct NodeMessage {
  std::optional<Hello> hello;
  std::vector<protocol::NodeEvent> events;
  std::optional<std::uint64_t> heartbeat;
  std::optional<std::uint64_t> number;
  std::optional<std::uint64_t> taken;
};

struct ShardMessage {
  std::optional<Welcome> welcome;
  std::vector<protocol::NodeAction> actions;
  std::optional<std::uint64_t> heartbeat_ack;
  std::optional<Ended> ended;
  std::optional<std::uint64_t> shard_id;  // the shard goes by this id from now on
  std::optional<std::uint64_t> number;
  std::optional<std::uint64_t> taken;
};

}  // namespace hoplite::wire
