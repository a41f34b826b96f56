#include "planner/node/spill_state.h"

#include <algorithm>

namespace hoplite::planner {
namespace {

// Of what was wanted, so that the disk works while the next put is filled.
constexpr std::uint64_t kAheadTimes = 2;
constexpr std::uint64_t kPartOfStore = 2;

}  // namespace

void SpillState::OnWanted(std::uint64_t bytes, std::uint64_t capacity_bytes, Time now) {
  wanted_bytes_ = bytes;
  most_bytes_ = capacity_bytes / kPartOfStore;
  wanted_at_ = now;
}

bool SpillState::wanted_lately(Time now) const {
  return wanted_at_ != Time::min() && now - wanted_at_ < kAheadFor;
}

std::optional<std::uint64_t> SpillState::Wanted(Time now) const {
  return wanted_lately(now) ? std::optional(wanted_bytes_) : std::nullopt;
}

std::uint64_t SpillState::Ahead(Time now) const {
  if (!wanted_lately(now)) return 0;
  const std::uint64_t ahead = std::max(kAheadTimes * wanted_bytes_, kLeastAhead);
  return std::max(wanted_bytes_, std::min(ahead, most_bytes_));
}

bool SpillState::MayWrite(Time now) const { return under_way_ < kMostWrites && !left_alone(now); }

void SpillState::OnWritten(Time now) {
  --under_way_;
  written_at_ = now;
}

// Its own places come back, which is no news.
void SpillState::OnFailed(Failure how, std::size_t objects, Time now) {
  --under_way_;
  no_news_ += objects;
  LeaveAlone(how, now);
}

void SpillState::LeaveAlone(Failure why, Time now) {
  why_ = why;
  left_alone_until_ = now + kLeftAlone;
}

// What is broken stays so.
void SpillState::OnRoom() {
  if (no_news_ > 0) {
    --no_news_;
  } else if (why_ == Failure::kFull) {
    left_alone_until_ = Time::min();
  }
}

}  // namespace hoplite::planner
