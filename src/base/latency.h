// LatencyHistogram: how many things took how long, in buckets whose bounds never change.
//
// Is told: each duration, by one thread. Any thread may read; what is read is of no single moment.
// Must never: take a lock, or grow.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace hoplite {

// Upper bounds in seconds, each included. What is longer goes into one more bucket.
inline constexpr std::array kLatencyBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                           0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};

// As read once.
struct LatencyCounts {
  std::array<std::uint64_t, kLatencyBounds.size() + 1> buckets{};  // each without the others
  double sum_seconds = 0;
};

class LatencyHistogram {
 public:
  void Add(Duration took) {
    std::size_t bucket = 0;
    while (bucket < kLatencyBounds.size() && ToSeconds(took) > kLatencyBounds[bucket]) ++bucket;
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(took.count(), std::memory_order_relaxed);
  }

  LatencyCounts counts() const {
    LatencyCounts counts;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      counts.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    counts.sum_seconds = ToSeconds(Duration(sum_.load(std::memory_order_relaxed)));
    return counts;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kLatencyBounds.size() + 1> buckets_{};
  std::atomic<Duration::rep> sum_{0};
};

}  // namespace hoplite
