// Noise: what busy hosts and real networks do, beside faults. All of it is drawn from the seed, by
// streams of its own: without noise a history draws the same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/kit/random.h"

namespace hoplite::sim {

struct Noise {
  // What a node says is heard later, in order: one word in four by up to this time, the others by up
  // to an eighth of it.
  Duration late{0};

  // Empty, or which value makes no sense, in words.
  std::string_view Wrong() const;
};

// The flags of a command that replays the history.
void AddNoise(std::string& command, const Noise& noise);

// Lateness: when the directory hears what each node says.
//
// Must never: let a node's word be heard before an earlier word of the same node. A value type.
class Lateness {
 public:
  Lateness(const Noise& noise, Duration latency, std::uint64_t seed)
      : late_(noise.late), latency_(latency), seed_(seed) {}

  // Of what the node says now.
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

}  // namespace hoplite::sim
