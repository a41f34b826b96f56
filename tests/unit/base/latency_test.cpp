#include "base/latency.h"

#include <numeric>

#include <gtest/gtest.h>

namespace hoplite {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(LatencyHistogram, ABoundBelongsToItsBucket) {
  LatencyHistogram histogram;
  histogram.Add(microseconds(500));
  histogram.Add(microseconds(501));
  histogram.Add(milliseconds(1));
  const LatencyCounts counts = histogram.counts();
  EXPECT_EQ(counts.buckets[0], 1u);
  EXPECT_EQ(counts.buckets[1], 2u);
  EXPECT_NEAR(counts.sum_seconds, 0.002001, 1e-9);
}

TEST(LatencyHistogram, WhatIsLongerThanAllBoundsCountsToo) {
  LatencyHistogram histogram;
  histogram.Add(hours(1));
  histogram.Add(Duration{0});
  const LatencyCounts counts = histogram.counts();
  EXPECT_EQ(counts.buckets.front(), 1u);
  EXPECT_EQ(counts.buckets.back(), 1u);
  EXPECT_EQ(std::accumulate(counts.buckets.begin(), counts.buckets.end(), 0u), 2u);
}

}  // namespace
}  // namespace hoplite
