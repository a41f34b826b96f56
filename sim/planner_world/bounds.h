// Closed forms of a broadcast over equal links, to compare simulated times with.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "sim/planner_world/options.h"

namespace hoplite::sim {

struct Link {
  Duration latency;
  double bytes_per_second = 0;
};

// S/B and one latency: the last byte can't come earlier.
double BoundSeconds(std::uint64_t size_bytes, const Link& link);

struct Tree {
  std::uint32_t degree = 0;
  double seconds = 0;
};
// Every node but the leaves forwards whole objects to `degree` children, block by block:
// h (L + d block/B) + d (S - block)/B. Degree 1 is the line.
double TreeSeconds(std::uint32_t nodes, std::uint64_t size_bytes, const Link& link,
                   std::uint32_t degree);
// The least over all degrees from 2 (two nodes: 1).
Tree BestTree(std::uint32_t nodes, std::uint64_t size_bytes, const Link& link);

// P11: empty, or that `seconds` is more than these options and their faults may cost.
// The least rate of all links at any time, in bytes per second.
std::uint64_t SlowestLink(const Options& options);
std::string TooSlow(const Options& options, double seconds);

// What pairs that can't connect may cost (R68): pauses before they, or others for them, are tried
// again, and the work once more.
double CutSeconds(const Options& options, double plain);
// What noise may cost: each step of a history may wait for late words, for a host that stands still
// and for a stream that begins. The work itself takes `NoiseFactor` times as long.
double NoiseSeconds(const Options& options);
double NoiseFactor(const Options& options);

}  // namespace hoplite::sim
