// How long a client waits for a node that owes an answer.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace hoplite::client {

// A node answers a little before a deadline, with the reason. One that is silent is not waited for
// longer.
inline constexpr std::chrono::milliseconds kPatience{80};
// One that goes on answering may have very many answers to give.
inline constexpr std::chrono::milliseconds kLongestAnswering{1000};

// Until when it is waited for, if it said something last at `heard`.
inline Time LastMoment(Time deadline, Time heard) {
  if (deadline == kNever) return kNever;
  return std::clamp(heard, deadline, deadline + kLongestAnswering) + kPatience;
}

// Until when it is waited for once more by a thread that was to wake at `last` and woke at `now`. A
// thread that wakes late is on a busy host, where the node's thread has to wait as long for its turn.
inline Time OnceMore(Time last, Time now) {
  return now + std::clamp<Duration>(now - last, Duration{0}, kLongestAnswering);
}

}  // namespace hoplite::client
