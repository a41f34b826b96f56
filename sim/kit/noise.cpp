#include "sim/kit/noise.h"

#include <algorithm>

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kLateness = 0x6c617465;
constexpr std::uint64_t kFewAreLate = 4;
constexpr std::int64_t kOthersAreLess = 8;

constexpr std::uint64_t kStalls = 0x7374616c6c;
// So many slots ahead the next stall is looked for.
constexpr std::int64_t kSlotsAhead = 1000;

std::int64_t SlotOf(Time when) { return (when - Time{}) / Stalls::kSlot; }

}  // namespace

Duration DrawLateness(Random& random, Duration late) {
  const bool much = random.Below(kFewAreLate) == 0;
  return random.Within(much ? late : late / kOthersAreLess);
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
  const Duration late = late_.count() > 0 ? DrawLateness(said.random, late_) : Duration{0};
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
  if (random.Below(kPartsOfNoise) >= static_cast<std::uint64_t>(chance_ * kPartsOfNoise)) return {};
  const Time begin = Time{} + slot * kSlot + random.Within(kSlot - Duration{1});
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
  return Time{} + (first + kSlotsAhead) * kSlot;
}

}  // namespace hoplite::sim
