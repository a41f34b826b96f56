// AnswerTimes: how long the other side of a session takes to answer heartbeats, and so how long to
// wait for the next answer (R58).
//
// Decides: the patience, which is a lease; while answers take long it is four times the slowest of
// late, up to five leases. What was slow counts half as much a few answers later. Is told: each
// heartbeat and each answer. A value type, one per session.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/time.h"

namespace hoplite::directory {

class AnswerTimes {
 public:
  void Asked(std::uint64_t number, Time now) { open_.emplace_back(number, now); }
  // To that heartbeat, and all before it.
  void Answered(std::uint64_t number, Time now) {
    if (open_.empty() || open_.front().first > number) return;
    slowest_ = std::max<Duration>(slowest_ * 7 / 8, now - open_.front().second);
    while (!open_.empty() && open_.front().first <= number) open_.pop_front();
  }
  Duration patience(Duration lease) const { return std::clamp(4 * slowest_, lease, 5 * lease); }

 private:
  std::deque<std::pair<std::uint64_t, Time>> open_;  // by number: when it was asked
  Duration slowest_{0};
};

}  // namespace hoplite::directory
