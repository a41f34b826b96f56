// InlinePace: how much of small objects' bytes stands before the shard's link (R67).
//
// Decides: whether more should leave there now, or whoever asks is better sent to a holder. Is told:
// bytes that left, and what links carry on average, of which its own is taken to be one. Must never:
// withhold bytes; what nobody else can give leaves all the same. A value type.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/digest.h"
#include "base/time.h"
#include "base/units.h"
#include "planner/broadcast_cost.h"
#include "planner/words.h"

namespace hoplite::planner {

class InlinePace {
 public:
  // So many bytes may stand before the link, or what it carries in that time if that is more.
  InlinePace(std::uint64_t bytes, Duration time) : bytes_(bytes), time_(time) {}

  bool Allows(std::uint64_t bytes, Time now, const LinkModel& link) {
    Drain(now, link);
    if (bytes <= kMessages) return true;
    return ahead_ + bytes <= std::max(bytes_, BytesIn(time_, link));
  }
  void Left(std::uint64_t bytes, Time now, const LinkModel& link) {
    Drain(now, link);
    ahead_ += bytes;
  }

  void AddTo(Digest& digest) const { digest.Add(ahead_).Add(as_of_); }

 private:
  // The messages of a fetch send about so much through the shard's link: less is not worth one.
  static constexpr std::uint64_t kMessages = 1_KiB;

  // Links may be said to carry anything. One that nobody has measured counts as slow: to believe the
  // contrary costs much more (R40).
  static std::uint64_t BytesIn(Duration time, const LinkModel& link) {
    const double rate = SlowIfGuessed(link, link.guessed).bytes_per_second;
    return static_cast<std::uint64_t>(std::min(ToSeconds(time) * rate, 1e18));
  }
  void Drain(Time now, const LinkModel& link) {
    ahead_ -= std::min(ahead_, BytesIn(now - as_of_, link));
    as_of_ = now;
  }

  std::uint64_t bytes_;  // limits
  Duration time_;
  std::uint64_t ahead_ = 0;  // bytes
  Time as_of_{};
};

}  // namespace hoplite::planner
