#include "sim/node_world/options.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/layout.h"
#include "sim/kit/noise.h"
#include "sim/kit/random.h"

namespace hoplite::node_world {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::uint64_t Options::memory_of(std::uint32_t node) const {
  return is_small(node) ? 16_KiB * (2 + most_blocks / 3) : memory_bytes + crowd * 4_KiB;
}

node::Rooms::Limits Options::rooms_of(std::uint32_t node) const {
  return {.each = 16_KiB * most_blocks, .all = memory_of(node) / 2};
}

Result<void> Options::Validate() const {
  const auto wrong = [](const char* what) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument, what));
  };
  if (nodes < 1 || nodes > 64) return wrong("nodes must be 1 to 64");
  if (shards < 1 || shards > 8) return wrong("shards must be 1 to 8");
  if (data_loops < 1 || data_loops > 8) return wrong("data loops must be 1 to 8");
  if (link.bytes_per_second == 0) return wrong("bandwidth must be above 0");
  if (most_blocks < 1 || most_blocks > 1024) return wrong("blocks must be 1 to 1024");
  if (stripes < 1 || stripes > kMaxStripes) return wrong("stripes must be 1 to 64");
  if (link.late.count() < 0 || stall.count() < 0) return wrong("a time must not be negative");
  if (stall_chance < 0 || stall_chance > 1) return wrong("the chance of stalls must be 0 to 1");
  if (stall_chance * ToSeconds(stall) > ToSeconds(sim::Stalls::kSlot)) {
    return wrong("stalls must leave processes half of the time");
  }
  if (max_fetches < 1) return wrong("fetches must be 1 or more");
  if (objects < 1) return wrong("objects must be 1 or more");
  return {};
}

namespace {

// Makes stores so small, and objects so many, that what is put, got and folded at the same time
// does not fit and waits.
void FillStores(Options& options, sim::Random& random) {
  const auto up_to = [&random](std::uint32_t most) {
    return static_cast<std::uint32_t>(random.Below(most + 1));
  };
  options.memory_bytes = 16_KiB * options.most_blocks * (2 + up_to(4));
  options.objects += up_to(6);
  options.sources += up_to(10);
  options.calls += up_to(30);
  options.sums += 1 + up_to(2);
}

// What rings need: several members with a source each, stripes, and time for what they carry.
void MakeRings(Options& options, sim::Random& random) {
  options.rings = true;
  options.link.bytes_per_second = 1'000'000 * (1 + random.Below(4));
  options.link.latency = std::min<Duration>(options.link.latency, milliseconds(1));
  options.link.jitter = std::min(options.link.jitter, options.link.latency);
  options.nodes = std::max(options.nodes, 3U);
  options.sources = options.nodes + static_cast<std::uint32_t>(random.Below(2));
  options.sums += 1;
  options.most_blocks = std::max(options.most_blocks, 4U);
  // In the other half a member may have no room for its two parts.
  if (random.Below(2) == 0) {
    options.memory_bytes = std::max(options.memory_bytes, 16_KiB * options.most_blocks * 8);
  }
  options.stripes = static_cast<std::uint32_t>(2 + random.Below(7));
}

// What forests need: stripes that are cut evenly, and several nodes that ask together.
void MakeForests(Options& options, sim::Random& random) {
  options.nodes = static_cast<std::uint32_t>(4 + random.Below(6));
  options.stripes = random.Below(2) == 0 ? 2 : 4;
  options.most_blocks = std::max(options.most_blocks, 8U);
  options.rushes = static_cast<std::uint32_t>(2 + random.Below(4));
  options.objects = options.rushes;
  options.calls = std::min(options.calls, 4U);
  options.memory_bytes = 16_KiB * options.most_blocks * (2 + random.Below(8)) + 64_KiB;
  options.link.bytes_per_second = 1'000'000 * (1 + random.Below(4));
}

// A shard restarts and newcomers come; no other fault may lose an object.
void BringNewcomers(Options& options, sim::Random& random) {
  options.newcomers = static_cast<std::uint32_t>(1 + random.Below(2));
  options.restarts = 1;
  for (std::uint32_t* fault :
       {&options.partitions, &options.one_way_partitions, &options.clogs, &options.freezes,
        &options.slow_nodes, &options.crashes, &options.returns}) {
    *fault = 0;
  }
}

// Somebody who reaches both stays, with room for what they read.
void CutPair(Options& options, sim::Random& random) {
  options.cut_pair = true;
  options.cut_both_ways = random.Below(2) == 0;
  options.cut_refuses = random.Below(2) == 0;
  options.crashes = 0;
  options.drains = 0;
  options.windows = 0;
  options.nodes = std::max(options.nodes, 3U);
  const std::uint64_t things = options.objects + options.sources + 4 * options.sums + 4;
  options.memory_bytes =
      std::max(options.memory_bytes, 2 * things * 16_KiB * options.most_blocks + 64_KiB);
}

// Stores that fill, and disks that are slow, small, fail, or are silent for a while.
void GiveDisks(Options& options, sim::Random& random) {
  FillStores(options, random);
  const bool small = random.Below(4) == 0;
  options.disk_bytes = 16_KiB * options.most_blocks * (small ? 4 : 64);
  options.disk.bytes_per_second = 1'000'000 * (1 + random.Below(60));
  if (random.Below(4) == 0) options.disk.room_bytes = options.disk_bytes / 2;
  if (random.Below(2) == 0)
    options.disk.fail_percent = static_cast<std::uint32_t>(random.Below(20));
  if (random.Below(2) == 0)
    options.disk.silent_percent = static_cast<std::uint32_t>(random.Below(9));
}

}  // namespace

Options Draw(std::uint64_t seed) {
  sim::Random random(seed * 104729);
  const auto up_to = [&random](std::uint32_t most) {
    return static_cast<std::uint32_t>(random.Below(most + 1));
  };
  // Often none, seldom many.
  const auto few = [&up_to](std::uint32_t most) { return up_to(1) * up_to(most); };
  Options options;
  options.seed = seed;
  options.nodes = 2 + up_to(3);
  options.shards = 1 + few(1);
  options.data_loops = 1 + up_to(1);
  options.most_blocks = 1 + up_to(7);
  options.memory_bytes = 16_KiB * options.most_blocks * (2 + up_to(1) * 10) + 64_KiB;
  options.link.latency = microseconds(50 + up_to(1) * up_to(3000));
  options.link.jitter = up_to(1) * random.Within(options.link.latency);
  options.link.bytes_per_second = 1'000'000 * (1 + std::uint64_t{up_to(1)} * up_to(60));
  options.span = milliseconds(20 + up_to(1) * up_to(2000));
  options.calls = 4 + up_to(16);
  options.objects = 1 + up_to(3);
  options.sources = 2 + up_to(3);
  options.sums = few(3);
  options.deletes = few(2);
  options.cancels = few(3);
  options.broken_streams = up_to(4);
  options.broken_sessions = few(2);
  options.partitions = few(2);
  options.one_way_partitions = few(2);
  options.clogs = few(2);
  options.freezes = few(1);
  options.slow_nodes = few(1);
  options.crashes = few(1);
  options.returns = few(2);
  options.restarts = few(2);
  options.windows = up_to(3) == 0 ? 1 + up_to(4) : 0;
  // One word at a time, or some.
  if (up_to(1) == 0)
    options.pace = {.window = 200 + up_to(2000), .part = 1 + up_to(500), .ask_every = 1};
  if (up_to(63) == 0) {
    options.crowd = 1000 + up_to(1000);
    options.pace = {};
  }
  if (up_to(1) == 1) options.max_fetches = 1 + up_to(2);
  if (up_to(3) == 0 && options.crowd == 0) FillStores(options, random);
  if (up_to(15) == 0) BringNewcomers(options, random);
  if (up_to(7) == 0 && options.newcomers == 0) options.owners = 1 + up_to(5);
  if (up_to(1) == 1) options.stripes = 2 + up_to(2);
  options.two_lanes = up_to(1) == 1;
  if (options.sums > 0 && up_to(1) == 1) MakeRings(options, random);
  if (!options.rings && options.crowd == 0 && up_to(7) == 0) MakeForests(options, random);
  options.full_links = options.crowd == 0 && up_to(3) == 0;
  // Drawn apart, so that the other histories are what they were.
  sim::Random apart(seed * 15485863);
  if (apart.Below(4) == 0) options.fails = static_cast<std::uint32_t>(1 + apart.Below(3));
  if (options.newcomers == 0 && apart.Below(4) == 0) {
    options.drains = static_cast<std::uint32_t>(1 + apart.Below(2));
  }
  if (options.newcomers == 0 && up_to(3) == 0) CutPair(options, random);
  if (options.newcomers > 0 && apart.Below(2) == 0) {
    options.state_files = true;
    options.restarts = 2;
  }
  sim::Random disks(seed * 32452843);
  const bool roomy = options.cut_pair || options.newcomers > 0 || options.crowd > 0;
  if (!roomy && disks.Below(3) == 0) GiveDisks(options, disks);
  return options;
}

}  // namespace hoplite::node_world
