// Options: one history of whole nodes, its faults included. The same options give the same history,
// step by step, on every machine.
#pragma once

#include <cstdint>
#include <string>

#include <hoplite/result.h>

#include "base/time.h"
#include "base/units.h"
#include "directory/session_outbox.h"
#include "node/memory/rooms.h"
#include "sim/node_world/planted_fault.h"
#include "sim/node_world/sim_disk.h"
#include "sim/seams/sim_network.h"

namespace hoplite::node_world {

// Objects up to this size live in the directory: small, so that most travel between nodes.
inline constexpr std::uint64_t kInlineLimitBytes = 1_KiB;
inline constexpr std::uint64_t kInlineLimitOfFullLinks = 32_KiB;  // each store has room for one

struct Options {
  std::uint64_t seed = 1;

  std::uint32_t nodes = 3;
  std::uint32_t shards = 1;
  std::uint32_t data_loops = 1;  // of a node
  std::uint64_t memory_bytes = 4_MiB;
  std::uint32_t max_fetches = 64;  // of a node, under way at a time
  net::LinkOptions link;

  // Calls of clients, at random moments of the span: Put, Get, Open; some are cancelled.
  Duration span = std::chrono::milliseconds(500);
  std::uint32_t calls = 16;
  std::uint32_t objects = 3;  // that calls choose from, besides the sources and targets of sums
  std::uint32_t sources = 3;
  std::uint32_t most_blocks = 8;  // of an object, each of 16 KiB
  std::uint32_t stripes = 1;      // of an object; a run has 16 KiB
  bool two_lanes = false;         // stripes of one grant travel on two connections
  std::uint32_t sums = 0;         // reductions, of sources that are put as well
  // Most sums say that everybody reads them, and sources are put early, one after the other on each
  // node: so most sums are made by a ring (R64).
  bool rings = false;
  // Moments at which all nodes ask for one object together, which then becomes a forest, if its
  // stripes are even and nobody reads another object as well.
  std::uint32_t rushes = 0;
  std::uint32_t fails = 0;  // an object, or a source of sums, gets an error in its place (R69)
  std::uint32_t deletes = 0;
  std::uint32_t cancels = 0;
  // Reads of objects at the last node, whose store is then too small for most of them, so that they
  // come through a window. It does nothing else.
  std::uint32_t windows = 0;
  // Clients that each own one of the objects, for a while.
  std::uint32_t owners = 0;
  // Small objects that are put besides, so that inventories are long.
  std::uint32_t crowd = 0;
  // Nodes that hand their only copies on and leave (R70).
  std::uint32_t drains = 0;
  // Objects of two blocks live in the directory, too, and shards take their links for full: one reader
  // gets the bytes, and hands them on to the others (R83).
  bool full_links = false;
  // Each node has a disk of so many bytes, to which what was put goes when memory is wanted (R120); 0:
  // none has.
  std::uint64_t disk_bytes = 0;
  DiskOptions disk;
  // The pace of the sessions with the shards: a small one makes the inventory of few objects long.
  directory::Pace pace;

  // Noise, until the faults end: in each 100 ms a process stands still with that chance, for up to that
  // time. Late words are in `link`.
  double stall_chance = 0;
  Duration stall{0};

  // Faults, each at a random moment of the span and over soon after its end.
  std::uint32_t broken_streams = 0;
  std::uint32_t broken_sessions = 0;
  std::uint32_t partitions = 0;          // two processes don't hear each other
  std::uint32_t one_way_partitions = 0;  // one doesn't hear the other
  std::uint32_t clogs = 0;               // nothing reaches a process for a moment
  std::uint32_t freezes = 0;             // a process stops, and goes on later
  std::uint32_t slow_nodes = 0;          // a tenth of the speed
  std::uint32_t crashes = 0;             // processes that die for good
  std::uint32_t returns = 0;             // crashes of processes that start again
  std::uint32_t restarts = 0;            // of a shard
  // At each restart so many nodes join that were never there, perhaps before those that hold
  // objects (R44). With one shard, some of them know it by the id of another cluster.
  std::uint32_t newcomers = 0;
  // Shards keep who they are, so newcomers may come much earlier than the others.
  bool state_files = false;
  // Of the whole history: the second node can't connect to the first, nor, if so, the first to the
  // second; their streams are refused or not answered (R68). The others reach everybody.
  bool cut_pair = false;
  bool cut_both_ways = false;
  bool cut_refuses = false;

  // A planted fault, in every node; tests only.
  PlantedFault fault = PlantedFault::kNone;

  bool is_small(std::uint32_t node) const { return windows > 0 && node + 1 == nodes; }
  std::uint64_t memory_of(std::uint32_t node) const;
  // Each Get's is enough for any object, as in a large store; the small stores here have few.
  node::Rooms::Limits rooms_of(std::uint32_t node) const;

  Result<void> Validate() const;
};

// The history that a seed alone stands for: sizes, speeds and faults are drawn from it.
Options Draw(std::uint64_t seed);

}  // namespace hoplite::node_world
