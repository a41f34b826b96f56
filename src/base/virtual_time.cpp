#include "base/virtual_time.h"

#include <algorithm>

#include <time.h>

#include "base/check.h"
#include "base/clock.h"

namespace hoplite {

Time Now() {
  const VirtualTime* time = VirtualTime::OfThisThread();
  return time != nullptr ? time->Now() : std::chrono::steady_clock::now();
}

Time NowSinceBoot() {
  const VirtualTime* time = VirtualTime::OfThisThread();
  if (time != nullptr) return time->Now();
  timespec now{};
  HOPLITE_CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0, "the machine has a clock");
  return Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

VirtualTime::VirtualTime(Time start) : now_(start) {
  HOPLITE_CHECK(of_this_thread_ == nullptr, "a thread has one time");
  of_this_thread_ = this;
}

VirtualTime::~VirtualTime() { of_this_thread_ = nullptr; }

VirtualTime::Ticket VirtualTime::At(Time when, std::function<void()> step) {
  const Ticket ticket{std::max(when, now_), planned_++};
  steps_.emplace(ticket, std::move(step));
  return ticket;
}

void VirtualTime::Step() {
  HOPLITE_CHECK(!steps_.empty(), "there is a step to take");
  auto next = steps_.extract(steps_.begin());
  now_ = next.key().first;
  next.mapped()();
}

}  // namespace hoplite
