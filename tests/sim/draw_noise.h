// DrawNoise: small noise for a part of random histories.
#pragma once

#include <cstdint>

#include "sim/kit/random.h"
#include "sim/planner_world/noise.h"

namespace hoplite::sim {

// For a quarter of the seeds: one kind, or all of them.
inline Noise DrawNoise(std::uint64_t seed) {
  using std::chrono::milliseconds;
  Random random(seed * 15487469);
  const std::uint64_t kind = random.Below(24);
  const auto has = [kind](std::uint64_t one) { return kind == one || kind == 5; };
  Noise noise;
  if (has(0)) noise.late = random.Within(milliseconds(30));
  if (has(1)) noise.stall_chance = static_cast<double>(random.Below(100)) / 1000;
  if (has(1)) noise.stall = random.Within(milliseconds(30));
  if (has(2)) noise.burst_bytes = Noise::kPacket + random.Below(128'000);
  if (has(3)) noise.unfair = 1 + static_cast<double>(random.Below(200)) / 100;
  if (has(4)) noise.begins = random.Within(milliseconds(10));
  return noise;
}

}  // namespace hoplite::sim
