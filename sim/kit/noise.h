// Noise of hosts, for every world: words that are heard late, and hosts that stand still for a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "sim/kit/random.h"

namespace hoplite::sim {

// What is drawn as a part of something has so many different values.
inline constexpr std::uint64_t kPartsOfNoise = 1'000'000;

// How much later a word is heard: one in four by up to `late`, the others by up to an eighth of it.
Duration DrawLateness(Random& random, Duration late);

// Lateness: when the directory hears what each node says.
//
// Must never: let a node's word be heard before an earlier word of the same node. A value type.
class Lateness {
 public:
  Lateness(Duration late, Duration latency, std::uint64_t seed)
      : late_(late), latency_(latency), seed_(seed) {}

  // Of what the node says at `now`.
  Time Hears(std::uint32_t node, Time now);
  // Of what the directory sees now of the node's session: after all that the node has said.
  Time Sees(std::uint32_t node, Time now);
  // All sessions end, and what was said in them is lost.
  void Forget();

 private:
  struct Node {
    Random random;
    Time heard;  // its last word
  };

  Node& Of(std::uint32_t node);

  Duration late_;
  Duration latency_;
  std::uint64_t seed_;
  std::vector<Node> nodes_;
};

// Stalls: when each host stands still. That follows from the seed, the host and the time alone. A
// value type.
class Stalls {
 public:
  // In each slot a host stands still with this chance, from a random moment on, for up to that time.
  static constexpr Duration kSlot = std::chrono::milliseconds(100);
  Stalls(double chance, Duration longest, std::uint64_t seed)
      : chance_(chance), longest_(longest), seed_(seed) {}

  // When the host goes on that may stand still at this moment; at once, if it does not.
  Time Awake(std::uint32_t host, Time when) const;
  // When the next stall begins after this moment, or an earlier moment at which to ask again.
  Time NextBegin(std::uint32_t host, Time when) const;

 private:
  struct Stall {
    Time begin;
    Time end;
  };

  std::optional<Stall> In(std::uint32_t host, std::int64_t slot) const;

  double chance_;
  Duration longest_;
  std::uint64_t seed_;
};

}  // namespace hoplite::sim
