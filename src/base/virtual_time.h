// VirtualTime: time that a simulation owns, for everything that one thread runs. While it lives,
// Now() (base/clock.h) and every net::Timer made on this thread go by it: a history of hours takes
// no time, and the same steps give the same history. Nothing happens by itself: whoever owns it
// runs the loops until they are idle, then advances.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/time.h"

namespace hoplite {

class VirtualTime {
 public:
  explicit VirtualTime(Time start = Time(std::chrono::hours(1)));
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  // Null where time is the machine's.
  static VirtualTime* OfThisThread() { return of_this_thread_; }

  Time Now() const { return now_; }

  // Runs `step` at that time, or at once if it is over; steps of one time in the order of their
  // planning.
  using Ticket = std::pair<Time, std::uint64_t>;
  Ticket At(Time when, std::function<void()> step);
  Ticket After(Duration delay, std::function<void()> step) {
    return At(now_ + delay, std::move(step));
  }
  void Forget(const Ticket& ticket) { steps_.erase(ticket); }

  Time next() const { return steps_.empty() ? kNever : steps_.begin()->first.first; }
  // So much time passes in which nothing runs, as on a suspended machine: what was due is late.
  void Pass(Duration duration) { now_ += duration; }
  // Takes one step, at its time or late; there must be one.
  void Step();

 private:
  static inline constinit thread_local VirtualTime* of_this_thread_ = nullptr;

  Time now_;
  std::uint64_t planned_ = 0;
  std::map<Ticket, std::function<void()>> steps_;
};

}  // namespace hoplite
