#include "node/streams/round_trip.h"

#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(RoundTrip, IsZeroUntilSomethingWasMeasured) {
  RoundTrip round_trip;
  EXPECT_EQ(round_trip.value(), Duration{0});
  round_trip.Note(Duration{0});
  EXPECT_EQ(round_trip.value(), Duration{0});
}

// The centre of a star collects from all at once: its connections are made through its own full
// link.
TEST(RoundTrip, WhatWasMeasuredThroughAQueueDoesNotCount) {
  RoundTrip round_trip;
  round_trip.Note(microseconds(100));
  for (std::size_t i = 1; i < RoundTrip::kSamples; ++i) round_trip.Note(milliseconds(20));
  EXPECT_EQ(round_trip.value(), microseconds(100));
}

TEST(RoundTrip, FollowsPeersThatAreFartherAway) {
  RoundTrip round_trip;
  round_trip.Note(microseconds(100));
  for (std::size_t i = 0; i < RoundTrip::kSamples; ++i) round_trip.Note(milliseconds(2));
  EXPECT_EQ(round_trip.value(), milliseconds(2));
}

}  // namespace
}  // namespace hoplite::node
