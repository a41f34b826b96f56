// RoundTrip: how long this node's peers take to answer, smoothed. A sample may also contain a wait
// for something else, never less than a round trip: so the estimate falls at once and rises slowly,
// and by little for a sample that is far off. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/time.h"

namespace hoplite::node {

class RoundTrip {
 public:
  void Note(Duration sample) {
    const Duration::rep now = std::max<Duration::rep>(sample.count(), 1);
    const Duration::rep before = estimate_.load(std::memory_order_relaxed);
    const bool falls = before == 0 || now < before;
    estimate_.store(falls ? now : before + (std::min(now, 4 * before) - before) / 8,
                    std::memory_order_relaxed);
  }
  // 0: no sample yet.
  Duration value() const { return Duration(estimate_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<Duration::rep> estimate_{0};
};

}  // namespace hoplite::node
