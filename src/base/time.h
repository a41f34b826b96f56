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

// The seam that lets a simulation own time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time Now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Time Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace hoplite
