// Pictures of a cluster, for people and tools.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/dtype.h>
#include <hoplite/object_id.h>
#include <hoplite/register_number.h>
#include <hoplite/result.h>

namespace hoplite {

// A copy of an object.
struct HolderInfo {
  std::string node;               // the name of the node that has it
  bool complete = false;          // it has all bytes
  std::uint64_t valid_bytes = 0;  // as last reported: at most what it has
};

// An object on its way between two nodes.
struct TransferInfo {
  ObjectId object;                // whose bytes these are
  std::string from;               // the name of the sender
  std::string to;                 // the name of the receiver
  std::uint64_t valid_bytes = 0;  // at the receiver
};

// A node whose clients wait for an object.
struct WaiterInfo {
  std::string node;  // its name
  std::string why;   // "it does not exist", "its last copy was lost, on n2"
};

// A slot in the plan of the reduction that makes an object: a tree, in which each has one parent and
// one is the root, or a ring (ReduceOptions::everyone_reads), in which each stripe has a root of its
// own.
struct SlotInfo {
  std::uint32_t slot = 0;         // its number, from 1
  std::uint32_t parent = 0;       // the first of `parents`; 0: it is a root
  std::string node;               // who executes it; empty: nobody at the moment
  std::vector<ObjectId> inputs;   // sources that it folds itself
  std::uint64_t valid_bytes = 0;  // of its output, as last reported
  // Whom it feeds, each in the stripes that both make. Empty: it is a root, its output is the object
  // in these stripes.
  std::vector<std::uint32_t> parents = {};
  // Which parts of the object its output is: numbers from 0, ascending; in a tree all there are.
  std::vector<std::uint32_t> stripes = {};
};

// A register (register.h).
struct RegisterInfo {
  RegisterNumber number;    // of its last write
  std::string value;        // what that wrote
  std::string writer;       // the node of the client that claimed it last; empty: there is none
  std::uint32_t nodes = 0;  // that have it open
};

// What the directory knows of an object: Client::Info.
struct ObjectInfo {
  ObjectId id;                   // its name
  std::uint64_t size_bytes = 0;  // of all of it; 0 if it is not known
  std::string version;   // which attempt to create it, "incarnation.sequence"; empty: none yet
  std::string metadata;  // what its creator gave with it, at most 4 KiB
  std::optional<DType> dtype = {};    // of its elements (PutOptions::dtype); none: not noted
  std::optional<Error> failure = {};  // in place of its bytes (Client::Fail); none: it did not fail
  bool in_directory = false;          // small: the directory itself holds the bytes
  std::vector<HolderInfo> holders;    // the nodes that have it, or a part
  std::vector<TransferInfo> transfers;  // who fetches it from whom
  std::vector<WaiterInfo> waiters;      // who can't fetch it yet, and why
  std::vector<SlotInfo> slots;          // while a reduction makes it
  bool ever_owned = false;              // it is deleted when its last owner is gone
  std::uint32_t owners = 0;             // nodes whose clients own it
  // The longest PutOptions::grace of these; none: DirectoryConfig::orphan_grace.
  std::optional<std::chrono::milliseconds> grace = {};
  std::optional<RegisterInfo> as_register = {};  // of that name; none: no node has one open
  // What its id was made of (ObjectId::FromName), where whoever put it told; empty: not known. Text
  // that a user chose: bytes that are no UTF-8 stand as \\xff.
  std::string name = {};
};

// What the process of a node or a shard takes of its host. All 0 where it is not known.
struct ProcessStatus {
  std::string version;                          // of Hoplite
  std::uint64_t resident_bytes = 0;             // memory that it has touched, what it maps included
  std::uint64_t descriptors = 0;                // open now
  std::uint64_t descriptor_limit = 0;           // that the process may have open
  std::chrono::microseconds processor_time{0};  // of all its threads, since its start
};

// A node of the cluster, as the directory sees it.
struct NodeStatus {
  std::string name;                    // unique in the cluster
  std::string address;                 // HOST:PORT of its data plane
  bool alive = false;                  // false: its session with the directory is interrupted
  std::uint64_t memory_bytes = 0;      // the store's size; 0 where the asked node does not know
  std::uint64_t used_bytes = 0;        // what of it is taken; 0 where the asked node does not know
  std::uint64_t bytes_per_second = 0;  // measured rate of its link; 0: not measured yet
  // Since the directory heard that rate last: links change, and only receivers measure.
  std::chrono::microseconds rate_age{0};
  // To its peers and back, as the network takes it; 0: not measured yet.
  std::chrono::microseconds round_trip{0};
  // Blocks that failed their checksum on arrival, since its start; they were fetched again.
  std::uint64_t corrupt_blocks = 0;
  std::uint64_t disk_bytes = 0;       // that objects may take on its disk; 0: none, or not known
  std::uint64_t disk_used_bytes = 0;  // that they take
  ProcessStatus process = {};         // as the node told it last, within the last second or so
};

// What the clients of the asked node have under way and pinned. All 0 if no node was asked.
struct ClientsStatus {
  std::uint64_t clients = 0;              // that are attached
  std::uint64_t requests = 0;             // of all together
  std::uint64_t pins = 0;                 // buffers, readers, drafts and subscriptions of all
  std::uint64_t most_requests = 0;        // of the one who has most
  std::uint64_t most_pins = 0;            // of the one who has most
  std::uint64_t requests_per_client = 0;  // the limit: NodeConfig
  std::uint64_t pins_per_client = 0;      // the limit: NodeConfig
  std::uint64_t owned = 0;                // ids, of all together
  std::uint64_t max_owned = 0;            // the limit: NodeConfig
  // What the process holds that holds most: objects that it put or reads, and their memory.
  std::uint64_t most_held_bytes = 0;
  std::uint64_t most_held_objects = 0;  // of the one who has most of these
  std::uint64_t quota_bytes = 0;        // NodeConfig::quota_bytes; 0: no limit
  std::uint64_t quota_objects = 0;      // NodeConfig::quota_objects; 0: no limit
};

// More objects than there are: Client::Status lists all.
inline constexpr std::uint64_t kAllObjects = std::numeric_limits<std::uint64_t>::max();

// Streams that a shard of the directory moved to another source, for one reason.
struct MovesStatus {
  std::string reason;       // "faster": docs/observability.md has all of them
  std::uint64_t count = 0;  // since the shard's start
};

// What a shard of the directory keeps.
struct ShardStatus {
  std::uint64_t objects = 0;       // that it knows
  std::uint64_t inline_bytes = 0;  // of small objects and metadata, which the shard itself holds
  // What waits at the shard for the node that has most to take.
  std::uint64_t most_queued_bytes = 0;
  std::string most_queued_node;           // empty: nothing waits
  std::uint64_t inline_total_bytes = 0;   // the limits: DirectoryConfig
  std::uint64_t session_queue_bytes = 0;  // of each node
  // Why it did not answer; empty: it did. Else its objects are missing, or some of them.
  std::string away = {};
  std::vector<MovesStatus> moves = {};     // for each reason
  ProcessStatus process = {};              // of the shard
  std::string held_by = {};                // the member that holds it; empty: it has one member
  std::vector<std::string> stand_by = {};  // the other members
  std::vector<std::string> silent = {};    // those that it does not hear; it hears none yet: empty
};

// A large cluster's picture is drawn in pages, one after the other: it is not of one moment.
struct ClusterStatus {
  std::vector<NodeStatus> nodes;    // all that the directory knows
  std::vector<ObjectInfo> objects;  // in the order of ids; all, or as many as were asked for
  std::vector<ShardStatus> shards;  // of the directory
  ClientsStatus clients;            // of the asked node

  std::uint64_t object_count() const {  // also those that are not listed
    std::uint64_t count = 0;
    for (const ShardStatus& shard : shards) count += shard.objects;
    return count;
  }
};

}  // namespace hoplite
