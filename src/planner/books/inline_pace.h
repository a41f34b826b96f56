// InlinePace: how much of small objects' bytes stands before the shard's link (R83).
//
// Decides: whether more should leave there now, and when; whether a holder should give instead
// (R83). Is told: bytes that left, and what links carry on average, of which its own is taken to be
// one. Must never: withhold an object for good. A value type.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/digest.h"
#include "base/time.h"
#include "planner/copies/broadcast_cost.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class InlinePace {
 public:
  // So many bytes may stand before the link, or what it carries in that time if that is more.
  InlinePace(std::uint64_t bytes, Duration time) : bytes_(bytes), time_(time) {}

  bool Allows(std::uint64_t bytes, Time now, const LinkModel& link) const {
    return Fits(bytes, free_at_, now, link);
  }
  // The same, by a link that counts as slow whatever was measured.
  bool AllowsOneOfMany(std::uint64_t bytes, Time now, const LinkModel& slow) const {
    return Fits(bytes, free_at_if_slow_, now, slow);
  }
  // From when on one object of this size may leave, if nothing else does before.
  Time AllowsFrom(std::uint64_t bytes, Time now, const LinkModel& link) const {
    const Duration room = std::max(Limit(link) - Takes(bytes, link), Duration{0});
    return now + std::max(Ahead(free_at_, now) - room, Duration{0});
  }
  void Left(std::uint64_t bytes, Time now, const LinkModel& link) {
    free_at_ = std::max(free_at_, now) + Takes(bytes, link);
    free_at_if_slow_ = std::max(free_at_if_slow_, now) + Takes(bytes, SlowIfGuessed(link, true));
  }
  // Links may be said to carry anything. One that nobody has measured counts as slow: to believe the
  // contrary costs much more.
  static Duration Takes(std::uint64_t bytes, const LinkModel& link) {
    const double rate = SlowIfGuessed(link, link.guessed).bytes_per_second;
    return FromSeconds(std::min(static_cast<double>(bytes) / rate, kLongest));
  }

  void AddTo(Digest& digest) const { digest.Add(free_at_).Add(free_at_if_slow_); }

 private:
  static Duration Ahead(Time free_at, Time now) { return std::max(free_at - now, Duration{0}); }
  bool Fits(std::uint64_t bytes, Time free_at, Time now, const LinkModel& link) const {
    return Ahead(free_at, now) + Takes(bytes, link) <= Limit(link);
  }
  Duration Limit(const LinkModel& link) const { return std::max(Takes(bytes_, link), time_); }

  static constexpr double kLongest = 1;  // seconds, of one message

  std::uint64_t bytes_;  // limits
  Duration time_;
  Time free_at_{};          // the link has carried all that left
  Time free_at_if_slow_{};  // the same, by a link that counts as slow
};

}  // namespace hoplite::planner
