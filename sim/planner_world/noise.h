// Noise: what busy hosts and real networks do, beside faults. All of it is drawn from the seed, by
// streams of its own: without noise a history draws the same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hoplite::sim {

struct Noise {
  static constexpr std::uint64_t kPacket = 1500;  // of a link; no burst is smaller

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

}  // namespace hoplite::sim
