// Times that commands wait for, in the unit of the public interface.
#pragma once

#include <algorithm>
#include <chrono>

#include <hoplite/future.h>

#include "base/time.h"

namespace hoplite::cli {

// How long one answer of a node or directory may take that waits for nobody else.
inline constexpr std::chrono::milliseconds kAnswerTimeout = std::chrono::seconds(30);

// A moment that several waits share; zero means never.
class Deadline {
 public:
  explicit Deadline(Duration from_now)
      : at_(from_now == Duration(0) ? kNever : SteadyClock().Now() + from_now) {}

  std::chrono::milliseconds left() const {
    if (at_ == kNever) return kForever;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - SteadyClock().Now());
    return std::max(left, std::chrono::milliseconds(0));
  }

 private:
  Time at_;
};

}  // namespace hoplite::cli
