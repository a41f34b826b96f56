// Random: small, and the same numbers with every compiler, so that a seed replays anywhere.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace hoplite::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  // In [0, bound); 0 for bound 0.
  std::uint64_t Below(std::uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }
  Duration Within(Duration longest) {
    return Duration(
        static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(longest.count()) + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace hoplite::sim
