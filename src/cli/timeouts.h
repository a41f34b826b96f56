// Times that commands wait for, in the unit of the public interface.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include <hoplite/client.h>

#include "base/clock.h"
#include "base/time.h"

namespace hoplite::cli {

// How long an answer of a node or directory may take that depends on nobody else.
inline constexpr std::chrono::milliseconds kAnswerTimeout = std::chrono::seconds(30);
inline constexpr std::chrono::milliseconds kAttachTimeout = std::chrono::seconds(5);

// What a command waits for without --timeout.
inline constexpr Duration kNoTimeout = Duration::max();
// A live node lets a client in at once. This is how long that may take, even if the deadline is
// sooner.
inline constexpr std::chrono::milliseconds kShortestAttach{100};

// A moment that several waits share. Zero is now: only what is there already is taken.
class Deadline {
 public:
  explicit Deadline(Duration from_now) : at_(After(from_now)) {}

  std::chrono::milliseconds left() const {
    if (at_ == kNever) return kForever;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Now());
    return std::max(left, std::chrono::milliseconds(0));
  }

 private:
  static Time After(Duration from_now) {
    const Time now = Now();
    return from_now >= kNever - now ? kNever : now + from_now;
  }

  Time at_;
};

}  // namespace hoplite::cli
