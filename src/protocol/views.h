// Read-only pictures of a shard's state, for status and tests. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/process_use.h"
#include "base/time.h"
#include "protocol/node_event.h"
#include "protocol/node_info.h"

namespace hoplite::protocol {

struct HolderView {
  NodeId node;
  std::string node_name;
  bool complete = false;
  bool producing = false;
  std::uint64_t valid_bytes = 0;
  std::uint64_t bytes_per_second = 0;  // as NodeView's
  Duration rate_age{0};
};
struct TransferView {
  NodeId from;
  NodeId to;
  std::string from_name;
  std::string to_name;
  GrantId grant;
  std::uint64_t valid_bytes = 0;  // at the receiver
};
struct WaiterView {
  NodeId node;
  std::string node_name;
  std::string why;  // "it does not exist", "every holder is busy", "its last copy was
                    // lost, on n2"
};
// A slot of the reduction that makes the object.
struct SlotView {
  std::uint32_t slot = 0;
  std::vector<std::uint32_t> parents;  // as in SlotOrder, as is the next
  StripeMask stripes = 0;
  NodeId node = kNoNode;  // nobody: vacant
  std::string node_name;
  Version version;
  std::vector<ObjectId> inputs;   // its own sources
  std::uint64_t valid_bytes = 0;  // of its output, as last told
};
// A register of an object's name.
struct RegisterView {
  Version version;
  std::string value;
  std::string writer;       // the node of the client that claimed it last; empty: it is gone
  std::uint32_t nodes = 0;  // that have it open
};

struct ObjectView {
  ObjectId object;
  Version version;
  std::uint64_t size_bytes = 0;
  std::string metadata;
  bool inlined = false;
  std::vector<HolderView> holders;
  std::vector<TransferView> transfers;
  std::vector<WaiterView> waiters;
  std::vector<SlotView> slots;
  bool ever_owned = false;
  std::uint32_t owners = 0;            // nodes that own it
  std::optional<Duration> grace = {};  // the longest of these; none: the orphan grace
  std::optional<RegisterView> as_register;
  // Nodes that wait for memory, for this object or others, the first of them; of one that was asked
  // for alone.
  std::vector<std::string> crowded = {};
};
struct NodeView {
  NodeInfo node;
  bool alive = false;                  // false: suspended
  StoreUsage usage;                    // as the node last told it
  std::uint64_t bytes_per_second = 0;  // measured rate of its link; 0: not yet
  Duration rate_age{0};                // since the shard heard that rate last
  Duration round_trip{0};              // measured, to its peers and back; 0: not yet
};
// What waits at the shard for its nodes to take it.
struct SessionQueuesView {
  std::uint64_t limit_bytes = 0;  // of each node's
  std::uint64_t most_bytes = 0;   // the largest of them
  std::string most_node;          // whose it is; nobody's if nothing waits
};
// Streams that a shard moved to another source since its start, for one reason.
struct MovesView {
  std::string reason;  // as of the metric hoplite_directory_moves_total
  std::uint64_t count = 0;
};
// Of a shard that has several members. Without addresses it has one.
struct ShardMembers {
  std::vector<std::string> addresses = {};  // the preferred one first
  std::string holder = {};                  // one of them, which answers; empty: not known
  std::vector<std::string> silent = {};     // those that the holder did not hear lately
  friend bool operator==(const ShardMembers&, const ShardMembers&) = default;
};
struct ShardView {
  std::uint64_t objects = 0;  // that it has a record of
  std::uint64_t inline_bytes = 0;
  std::uint64_t inline_total_bytes = 0;  // the limit of those
  // The service adds the next four: the planner knows no session or process, and counts nothing.
  SessionQueuesView queues;
  std::vector<MovesView> moves = {};
  ProcessUse process = {};
  ShardMembers members = {};
};

// A page is drawn in one go, so it is bounded: a shard that answers has sessions to serve, too.
inline constexpr std::uint32_t kMaxPageObjects = 1000;
inline constexpr std::size_t kMaxPageLooks = 20'000;  // at objects, of which few may be drawn
// Holders, transfers, waiters and slots together; an object that has more comes alone.
inline constexpr std::size_t kMaxPageParts = 4000;

struct PageRequest {
  std::optional<ObjectId> after;  // those behind it in the order of ids; none: from the first
  std::uint32_t limit = kMaxPageObjects;
  // Only those on their way to somebody, being made, or waited for. The first page then also has those
  // without a record that nodes wait for, of all shards.
  bool under_way = false;
};
struct ObjectPage {
  std::vector<ObjectView> objects;
  std::optional<ObjectId> reached = {};  // the last one that was looked at; none: there was none
  bool more = false;                     // there are objects behind that one
};

// A part of a shard's picture. Whoever wants all of it asks page after page, so the whole is not of
// one moment: what is created behind the last page that came is seen, what comes before it is not.
struct StatusPage {
  std::vector<NodeView> nodes;  // with the first page only
  ShardView shard;
  ObjectPage page;
};

}  // namespace hoplite::protocol
