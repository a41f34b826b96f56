// RoundTrip: how far away this node's peers are. A connection that was made through a full queue
// knows only times with that queue in them, others to the same place know better: so the least of
// the last samples. Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>

#include "base/time.h"

namespace hoplite::node {

class RoundTrip {
 public:
  static constexpr std::size_t kSamples = 16;

  // 0 is no sample.
  void Note(Duration sample) {
    if (sample <= Duration{0}) return;
    const std::scoped_lock lock(mutex_);
    samples_[noted_++ % kSamples] = sample;
  }
  // 0: no sample yet.
  Duration value() const {
    const std::scoped_lock lock(mutex_);
    if (noted_ == 0) return Duration{0};
    return *std::min_element(samples_.begin(), samples_.begin() + std::min(noted_, kSamples));
  }

 private:
  mutable std::mutex mutex_;
  std::array<Duration, kSamples> samples_{};
  std::size_t noted_ = 0;
};

}  // namespace hoplite::node
