// One notion of time for planners, nodes and simulation: a monotonic clock in nanoseconds.
#pragma once

#include <chrono>

namespace hoplite {

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline constexpr Time kNever = Time::max();

inline double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }

inline Duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace hoplite
