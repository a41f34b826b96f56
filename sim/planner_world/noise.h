// Noise: what busy hosts and real networks do, beside faults. All of it is drawn from the seed, by
// streams of its own: without noise a history draws the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/kit/random.h"

namespace hoplite::sim {

struct Noise {
  static constexpr std::uint64_t kPacket = 1500;      // of a link; no burst is smaller
  static constexpr std::uint64_t kDraws = 1'000'000;  // different values of what is drawn as a part

  // What a node says is heard later, in order: one word in four by up to this time, the others by up
  // to an eighth of it.
  Duration late{0};
  // In each 100 ms a host stands still with this chance, for up to that time.
  double stall_chance = 0;
  Duration stall{0};
  // A link that was idle carries so many bytes at once: a bucket of tokens that fills at its rate.
  std::uint64_t burst_bytes = 0;
  // Streams share a link by weights of 1 to `unfair`, which are drawn anew each 200 ms.
  double unfair = 1;
  // A stream grows from a tenth of its share to its share in this time, again after each pause.
  Duration begins{0};

  // Empty, or which value makes no sense, in words.
  std::string_view Wrong() const;
  bool of_links() const {
    return stall_chance > 0 || burst_bytes > 0 || unfair > 1 || begins.count() > 0;
  }
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
  Stalls(const Noise& noise, std::uint64_t seed)
      : chance_(noise.stall_chance), longest_(noise.stall), seed_(seed) {}

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
