// Settings of a node and of a directory shard: plain values with defaults. The library reads no
// environment and no files. (`= {}` lets who names only some members compile without a warning.)
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

struct HOPLITE_EXPORT NodeConfig {
  // Addresses of all directory shards, HOST:PORT, in the same order everywhere. Required.
  std::vector<std::string> directory = {};
  // Where peers reach this node's data plane. Port 0 picks a free one.
  std::string listen = "127.0.0.1:0";
  // What peers are told instead of the listening host, without a port; needed when that is 0.0.0.0
  // or ::.
  std::string advertise = {};
  // Unix socket for worker processes; empty: only clients of this process.
  std::string socket = {};
  // Shared memory for objects, reserved at the start; at least 1 MiB. Required.
  std::uint64_t memory_bytes = 0;
  // Unique in the cluster; empty: derived from the node's id. At most 255 bytes of UTF-8 without
  // control characters and line breaks; the cluster's too.
  std::string name = {};
  // Optional name of the cluster; members of others are refused.
  std::string cluster = {};
  // Limit of bytes a second in each direction; 0: none. For demonstrations and shared links.
  std::uint64_t rate_bytes_per_second = 0;
  // A peer that owes bytes or keep-alives for so long is given up. Shorter finds silent failures
  // sooner and mistakes a loaded machine for a dead one more often.
  std::chrono::milliseconds stall{700};
  std::chrono::milliseconds keepalive{200};
  // Threads that move bytes. Two reach the limit of one fast link.
  std::uint32_t data_threads = 2;
  // What one client may have under way, and hold of buffers, readers, drafts and subscriptions, at
  // a time; one more is answered resource_exhausted. Above honest use, below what fills the memory.
  std::uint32_t requests_per_client = 65536;
  std::uint32_t pins_per_client = 65536;
  // Objects that come to this node at a time; further ones wait in order. It bounds connections,
  // too: one for each, two for a large one.
  std::uint32_t max_fetches = 64;

  // invalid_argument: names the field and what it should be.
  Result<void> Validate() const;
};

struct HOPLITE_EXPORT DirectoryConfig {
  std::string listen = "127.0.0.1:0";
  // All shards in order; empty: this one alone.
  std::vector<std::string> shards = {};
  std::string cluster = {};
  std::chrono::milliseconds heartbeat{200};
  std::chrono::milliseconds lease{1000};
  std::chrono::milliseconds grace{1000};
  // How long a started shard only collects what the nodes hold; 0 for a cluster known to be new.
  std::chrono::milliseconds recovery_window{1000};
  // It collects for longer while a node still tells what it holds, but never longer than this.
  std::chrono::milliseconds recovery_limit{60000};
  // How long a deleted id can't be used again; at least lease + grace.
  std::chrono::milliseconds tombstone{60000};
  // Objects up to this size live in the directory; at most 64 KiB.
  std::uint64_t inline_limit_bytes = 64 * 1024;
  // All of them together; what comes when they have so many bytes is fetched from its holder.
  std::uint64_t inline_total_bytes = std::uint64_t{256} * 1024 * 1024;
  // Bytes of answers that may wait for one node; while there are more, what it says waits.
  std::uint64_t session_queue_bytes = std::uint64_t{64} * 1024 * 1024;

  Result<void> Validate() const;
};

}  // namespace hoplite
