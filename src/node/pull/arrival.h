// Arrival: how fast bytes come, for people who ask. The rate is that of the last second or two, so it
// shows what a stream does now; the average since its beginning hides that it has slowed down.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace hoplite::node {

// A value type. Is told, now and then, how many bytes there are.
class Arrival {
 public:
  void Begin(std::uint64_t bytes, Time now) { from_ = next_ = last_ = {bytes, now}; }
  void Note(std::uint64_t bytes, Time now) {
    if (bytes != last_.bytes) last_ = {bytes, now};
    if (now - next_.at < kSpan) return;
    from_ = next_;
    next_ = {bytes, now};
  }
  std::uint64_t BytesPerSecond(Time now) const {
    if (last_.bytes <= from_.bytes) return 0;
    const double seconds = std::max(ToSeconds(now - from_.at), 1e-3);
    return static_cast<std::uint64_t>(static_cast<double>(last_.bytes - from_.bytes) / seconds);
  }
  // Over less than a span the rate says little of the source.
  bool Settled(Time now) const { return now - from_.at >= kSpan; }
  // Since the last bytes came, or since its beginning.
  Duration Silent(Time now) const { return now - last_.at; }

 private:
  static constexpr Duration kSpan = std::chrono::seconds(1);
  struct Sample {
    std::uint64_t bytes = 0;
    Time at{};
  };

  Sample from_;  // between one and two spans ago
  Sample next_;  // the last span began
  Sample last_;  // when bytes came
};

}  // namespace hoplite::node
