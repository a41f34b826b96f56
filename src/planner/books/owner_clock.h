// OwnerClock: the time by which owners are given up (R53): that of the shard, less what its process
// was stopped, in which no node could reach it. And until when owners are awaited that the shard
// cannot know of (R54).
//
// Decides: what was a stop: the shard asked to be called at a time, and was called much later. Is
// told: the shard's time at each Plan, for when it asked, and sessions. A value type.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/digest.h"
#include "base/time.h"

namespace hoplite::planner {

class OwnerClock {
 public:
  // While something waits for this clock the shard asks to be called so often.
  static constexpr Duration kTick = std::chrono::seconds(1);
  // A call that is late by no more is none of a process that was stopped.
  static constexpr Duration kLate = std::chrono::milliseconds(100);

  // `known`: the cluster is new, nobody owns anything.
  explicit OwnerClock(bool known) : expects_some_(!known) {}

  // At each Plan.
  void Tick(Time now) {
    if (asked_for_ != kNever && now - asked_for_ > kLate) stopped_ += now - asked_for_;
    asked_for_ = kNever;
  }
  // The shard is to be called then, because of this clock.
  Time Ask(Time now, Time due) {
    const Time at = std::min(due == kNever ? kNever : std::max(due + stopped_, now), now + kTick);
    asked_for_ = std::min(asked_for_, at);
    return at;
  }
  // A session opens while there is none.
  void FirstSession(Time now, Duration wait) {
    if (expects_some_) unknown_until_ = Counted(now) + wait;
    expects_some_ = true;
  }

  // The time, without stops; so are all below.
  Time Counted(Time now) const { return now - stopped_; }
  Time unknown_until() const { return unknown_until_; }
  void AddTo(Digest& digest) const {
    digest.Add(static_cast<std::uint64_t>(stopped_.count())).Add(unknown_until_).Add(expects_some_);
  }

 private:
  Duration stopped_{0};
  Time asked_for_ = kNever;
  Time unknown_until_;
  bool expects_some_;
};

}  // namespace hoplite::planner
