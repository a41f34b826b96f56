#include "sim/planner_world/noise.h"

#include <fmt/format.h>

#include "sim/kit/noise.h"

namespace hoplite::sim {

std::string_view Noise::Wrong() const {
  if (late.count() < 0 || stall.count() < 0 || begins.count() < 0) {
    return "a time of noise must not be negative";
  }
  if (!(stall_chance >= 0 && stall_chance <= 1)) return "the chance of stalls must be in [0, 1]";
  if (stall_chance * ToSeconds(stall) > ToSeconds(Stalls::kSlot)) {
    return "hosts would stand still most of the time: stalls P,T need P x T of at most 100ms";
  }
  if (burst_bytes > 0 && burst_bytes < kPacket) return "bursts must be at least 1500 bytes";
  if (!(unfair >= 1 && unfair <= 1000)) return "unfair must be in [1, 1000]";
  return {};
}

void AddNoise(std::string& command, const Noise& noise) {
  if (noise.late.count() > 0) command += fmt::format(" --late {}ns", noise.late.count());
  if (noise.stall_chance > 0) {
    command += fmt::format(" --stalls {},{}ns", noise.stall_chance, noise.stall.count());
  }
  if (noise.burst_bytes > 0) command += fmt::format(" --bursts {}", noise.burst_bytes);
  if (noise.unfair > 1) command += fmt::format(" --unfair {}", noise.unfair);
  if (noise.begins.count() > 0) command += fmt::format(" --begins {}ns", noise.begins.count());
}

}  // namespace hoplite::sim
