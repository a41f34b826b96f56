#include "sim/planner_world/noise.h"

#include <algorithm>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kLateness = 0x6c617465;
constexpr std::uint64_t kFewAreLate = 4;
constexpr std::int64_t kOthersAreLess = 8;

constexpr std::uint64_t kStalls = 0x7374616c6c;
constexpr Duration kStallSlot = std::chrono::milliseconds(100);
// So many slots ahead the next stall is looked for.
constexpr std::int64_t kSlotsAhead = 1000;

std::int64_t SlotOf(Time when) { return (when - Time{}) / kStallSlot; }

}  // namespace

std::string_view Noise::Wrong() const {
  if (late.count() < 0 || stall.count() < 0 || begins.count() < 0) {
    return "a time of noise must not be negative";
  }
  if (!(stall_chance >= 0 && stall_chance <= 1)) return "the chance of stalls must be in [0, 1]";
  if (stall_chance * ToSeconds(stall) > ToSeconds(kStallSlot)) {
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

Lateness::Node& Lateness::Of(std::uint32_t node) {
  while (nodes_.size() <= node) {
    nodes_.push_back(
        {.random = Random(Random(seed_ ^ kLateness).Next() + nodes_.size()), .heard = {}});
  }
  return nodes_[node];
}

void Lateness::Forget() {
  for (Node& node : nodes_) node.heard = {};
}

Time Lateness::Hears(std::uint32_t node, Time now) {
  Node& said = Of(node);
  Duration late{0};
  if (late_.count() > 0) {
    const bool much = said.random.Below(kFewAreLate) == 0;
    late = said.random.Within(much ? late_ : late_ / kOthersAreLess);
  }
  said.heard = std::max(said.heard, now + latency_ + late);
  return said.heard;
}

Time Lateness::Sees(std::uint32_t node, Time now) {
  Node& said = Of(node);
  said.heard = std::max(said.heard, now + latency_);
  return said.heard;
}

std::optional<Stalls::Stall> Stalls::In(std::uint32_t host, std::int64_t slot) const {
  Random random(Random(Random(seed_ ^ kStalls).Next() + host).Next() +
                static_cast<std::uint64_t>(slot));
  if (random.Below(Noise::kDraws) >= static_cast<std::uint64_t>(chance_ * Noise::kDraws)) return {};
  const Time begin = Time{} + slot * kStallSlot + random.Within(kStallSlot - Duration{1});
  return Stall{begin, begin + random.Within(longest_)};
}

Time Stalls::Awake(std::uint32_t host, Time when) const {
  if (chance_ == 0) return when;
  // Another stall may begin before one ends.
  for (std::int64_t slot = std::max<std::int64_t>(SlotOf(when - longest_), 0); slot <= SlotOf(when);
       ++slot) {
    const auto stall = In(host, slot);
    if (stall && stall->begin <= when && when < stall->end) return Awake(host, stall->end);
  }
  return when;
}

Time Stalls::NextBegin(std::uint32_t host, Time when) const {
  if (chance_ == 0) return kNever;
  const std::int64_t first = SlotOf(when);
  for (std::int64_t slot = first; slot < first + kSlotsAhead; ++slot) {
    const auto stall = In(host, slot);
    if (stall && stall->begin > when) return stall->begin;
  }
  return Time{} + (first + kSlotsAhead) * kStallSlot;
}

}  // namespace hoplite::sim
