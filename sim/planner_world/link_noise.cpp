#include "sim/planner_world/link_noise.h"

#include <algorithm>
#include <cmath>

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kUnfair = 0x756e66616972;
constexpr Duration kDrawnEach = std::chrono::milliseconds(200);

constexpr double kLeastDrain = 1e-6;  // of the link's rate: less is a rounding error

// A stream that was silent for so long begins again, as TCP does after its least timeout.
constexpr Duration kPause = std::chrono::milliseconds(200);
constexpr std::int64_t kStepsOfGrowth = 9;  // from a tenth

}  // namespace

LinkNoise::Link& LinkNoise::Of(std::uint32_t link) {
  if (link >= links_.size()) {
    links_.resize(link + 1, {.tokens = static_cast<double>(noise_.burst_bytes)});
  }
  return links_[link];
}

void LinkNoise::Advance(Time now, Link& link) const {
  const auto passed = static_cast<double>((now - link.at).count());
  link.bytes += link.load * passed;
  link.tokens = std::clamp(link.tokens + (link.rate - link.load) * passed, 0.0,
                           static_cast<double>(noise_.burst_bytes));
  link.at = now;
}

void LinkNoise::Settle(Time now, std::uint32_t id, std::uint32_t host, double rate) {
  Link& link = Of(id);
  Advance(now, link);
  link.rate = rate;
  if (host != kNoHost && now >= link.stall_changes) {
    link.awake = stalls_.Awake(host, now);
    link.stall_changes = link.awake > now ? link.awake : stalls_.NextBegin(host, now);
  }
  // A bucket gives a burst once it has a packet, to the last byte.
  link.bursts = link.tokens >= (link.bursts ? 1.0 : static_cast<double>(Noise::kPacket));
  link.now = link.awake > now ? 0 : link.bursts ? fastest() * rate : rate;
  link.wanted = 0;
  link.grows = kNever;
}

void LinkNoise::Load(Time now, std::uint32_t id, double change) {
  Link& link = Of(id);
  Advance(now, link);
  link.load = std::max(link.load + change, 0.0);
}

double LinkNoise::Carried(Time now, std::uint32_t id) const {
  if (id >= links_.size()) return 0;
  return links_[id].bytes + links_[id].load * static_cast<double>((now - links_[id].at).count());
}

std::optional<Time> LinkNoise::Due(Time now, std::uint32_t id) {
  Link& link = Of(id);
  Time due = kNever;
  if (link.wanted > 0) due = link.grows;
  if (link.wanted > 0 && link.stall_changes > now) due = std::min(due, link.stall_changes);
  const double drains = link.load - link.rate;
  if (link.bursts && drains > kLeastDrain * link.rate) {
    const auto lasts = static_cast<std::int64_t>(std::ceil(link.tokens / drains));
    due = std::min(due, now + Duration(std::max(lasts, std::int64_t{1})));
  }
  if (noise_.unfair > 1 && link.wanted > 1) {
    due = std::min(due, Time{} + ((now - Time{}) / kDrawnEach + 1) * kDrawnEach);
  }
  if (due == link.due) return {};
  link.due = due;
  if (due == kNever) return {};
  return due;
}

bool LinkNoise::IsDue(Time now, std::uint32_t id) {
  Link& link = Of(id);
  if (link.due != now) return false;
  link.due = kNever;
  return true;
}

void LinkNoise::Wants(Time now, const Stream& stream, std::uint32_t up_link) {
  if (noise_.begins.count() == 0) return;
  Growth& growth = streams_[stream];
  if (!growth.sent || now - *growth.sent >= kPause) growth.began = now;
  const std::int64_t step = kStepsOfGrowth * (now - growth.began) / noise_.begins + 1;
  if (step > kStepsOfGrowth) return;
  Link& link = Of(up_link);
  const Duration next = (noise_.begins * step + Duration{kStepsOfGrowth - 1}) / kStepsOfGrowth;
  link.grows = std::min(link.grows, growth.began + next);
}

double LinkNoise::Part(Time now, const Stream& stream) const {
  if (noise_.begins.count() == 0) return 1;
  const std::int64_t step = kStepsOfGrowth * (now - streams_.at(stream).began) / noise_.begins;
  return std::min(static_cast<double>(1 + step) / (1 + kStepsOfGrowth), 1.0);
}

double LinkNoise::Weight(Time now, const Stream& stream) const {
  if (noise_.unfair <= 1) return 1;
  const auto slot = static_cast<std::uint64_t>((now - Time{}) / kDrawnEach);
  const std::uint64_t both = std::uint64_t{stream.first} << 32 | stream.second;
  Random random(Random(Random(seed_ ^ kUnfair).Next() + both).Next() + slot);
  const double drawn = static_cast<double>(random.Below(kPartsOfNoise + 1)) / kPartsOfNoise;
  return 1 + (noise_.unfair - 1) * drawn;
}

}  // namespace hoplite::sim
