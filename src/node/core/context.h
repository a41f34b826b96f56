// What the parts of one node share. Built by Assembly, outlives every task of the runtime.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/latency.h"
#include "base/recorder.h"
#include "base/time.h"
#include "base/units.h"
#include "directory/directory_client.h"
#include "node/core/decisions.h"
#include "node/core/object_table.h"
#include "node/core/runtime.h"
#include "node/memory/memory_broker.h"
#include "store/object_store.h"

namespace hoplite::node {

class Owners;
class Registers;

struct Settings {
  NodeId self = kNoNode;
  std::string name;
  std::string site;
  std::uint64_t cluster_id = 0;
  std::vector<std::string> directory = {};  // HOST:PORT of each shard
  Duration keepalive = std::chrono::milliseconds(200);
  Duration stall = std::chrono::milliseconds(700);
  // A FETCH that may have overtaken the shard's word waits so long for it: a shard that is slower in
  // one direction is away (R49).
  Duration longest_hold = std::chrono::milliseconds(300);
  // Stripes of the objects that are put here; 0: as many as their size asks for.
  std::uint32_t stripe_count = 0;
  // From this size on the stripes of one grant may travel on two connections, served by two loops.
  std::uint64_t two_lanes_from = 32_MiB;
  // Fetches under way at a time (R46).
  std::size_t max_fetches = 64;
  // That Gets may hold while they ask (R63); none: what the store's capacity says.
  std::optional<Rooms::Limits> rooms;
  // Smaller objects share a write to the disk.
  std::uint64_t gather_below = 64_KiB;
  // Ids that all its clients may own.
  std::size_t max_owned = 262144;

  // A receiver or reader that shows life but takes nothing may be slow: it has so long.
  Duration patience() const { return 4 * stall; }
  // Well before whoever asked takes this node for dead.
  Duration hold() const { return std::min(longest_hold, stall / 2); }
};

// What happened since the start; for tests, status and metrics. Any thread.
struct Counters {
  std::atomic<std::uint64_t> bytes_received{0};
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<std::uint64_t> fetches_started{0};  // FETCHes sent
  std::atomic<std::uint64_t> fetches_resumed{0};  // of them, from a mark above zero
  std::atomic<std::uint64_t> corrupt_blocks{0};
  std::atomic<std::uint64_t> gives_sent{0};
  std::atomic<std::uint64_t> grants{0};          // that streams were opened for
  std::atomic<std::uint64_t> moves{0};           // of them, in the place of another
  std::atomic<std::uint64_t> inline_fetches{0};  // answered with the bytes, without a stream
  std::atomic<std::uint64_t> slot_resets{0};     // slots of reductions that started again here
  std::atomic<std::uint64_t> sessions_ended{0};  // with shards
  Recorder decisions;                            // told on the main loop
  LatencyHistogram fetch_latency;                // from the answer that says where an object is
  LatencyHistogram reduce_latency;               // of the clients' calls that succeeded
};

struct Context {
  const Settings& settings;
  Runtime& runtime;
  store::ObjectStore& store;
  directory::DirectoryClient& directory;
  MemoryBroker& memory;
  ObjectTable& table;
  Owners& owners;
  Registers& registers;
  Counters& counters;
  const Decisions& decisions;

  // For whoever asks afterwards what happened.
  void Note(Decided what, const ObjectId& object, std::string_view text = "") const {
    counters.decisions.Note(what, object, text, Now());
  }
  std::size_t ShardOf(const ObjectId& object) const {
    return directory::ShardOf(object, directory.shard_count());
  }
  // Whether the shard keeps the bytes of an object of this size, while it has room (R16).
  bool LivesInDirectory(const ObjectId& object, std::uint64_t size_bytes) const {
    return size_bytes <= directory.inline_limit(ShardOf(object));
  }
  // Why there is no session with this shard.
  std::string WhyAway(std::size_t shard) const;
  // For the end of a message of something that had to wait: "; directory shard 0 is away: it did
  // not answer in time". Empty: the object's shard is there.
  std::string IfAway(const ObjectId& object) const;
};

}  // namespace hoplite::node
