// RoundTrip: how far away this node's peers are. A connection that was made through a full queue
// knows only times with that queue in them, others to the same place know better: so the least of
// the last samples. Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/mutex.h"
#include "base/time.h"

namespace hoplite::node {

class RoundTrip {
 public:
  static constexpr std::size_t kSamples = 16;

  // 0 is no sample.
  void Note(Duration sample) {
    if (sample <= Duration{0}) return;
    const MutexLock lock(mutex_);
    samples_[noted_++ % kSamples] = sample;
  }
  // 0: no sample yet.
  Duration value() const {
    const MutexLock lock(mutex_);
    if (noted_ == 0) return Duration{0};
    return *std::min_element(samples_.begin(), samples_.begin() + std::min(noted_, kSamples));
  }

 private:
  mutable Mutex mutex_;
  std::array<Duration, kSamples> samples_ HOPLITE_GUARDED_BY(mutex_){};
  std::size_t noted_ HOPLITE_GUARDED_BY(mutex_) = 0;
};

}  // namespace hoplite::node
