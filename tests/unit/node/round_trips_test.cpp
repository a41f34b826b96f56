#include "node/streams/round_trips.h"

#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RoundTrips, AreZeroUntilSomethingWasMeasured) {
  RoundTrips round_trips;
  EXPECT_EQ(round_trips.nearest(), Duration{0});
  EXPECT_EQ(round_trips.Note("here", Duration{0}), Duration{0});
  EXPECT_EQ(round_trips.nearest(), Duration{0});
}

// The centre of a star collects from all at once: its connections are made through its own full
// link.
TEST(RoundTrips, WhatWasMeasuredThroughAQueueDoesNotCount) {
  RoundTrips round_trips;
  round_trips.Note("here", microseconds(100));
  for (std::size_t i = 1; i < RoundTrips::kSamples; ++i) {
    round_trips.Note("there", milliseconds(20));
  }
  EXPECT_EQ(round_trips.nearest(), microseconds(100));
}

TEST(RoundTrips, TheNearestFollowsPeersThatAreFartherAway) {
  RoundTrips round_trips;
  round_trips.Note("here", microseconds(100));
  for (std::size_t i = 0; i < RoundTrips::kSamples; ++i) {
    round_trips.Note("there", milliseconds(2));
  }
  EXPECT_EQ(round_trips.nearest(), milliseconds(2));
}

// A site is as near as it ever was, and says nothing of another.
TEST(RoundTrips, ASiteIsAsFarAsTheBestConnectionToItSays) {
  RoundTrips round_trips;
  EXPECT_EQ(round_trips.Note("here", milliseconds(50)), milliseconds(50));
  EXPECT_EQ(round_trips.Note("here", milliseconds(20)), milliseconds(20));
  for (std::size_t i = 0; i < RoundTrips::kSamples; ++i) {
    EXPECT_EQ(round_trips.Note("here", milliseconds(90)), milliseconds(20));
  }
  EXPECT_EQ(round_trips.Note("here", Duration{0}), milliseconds(20));
  EXPECT_EQ(round_trips.Note("there", milliseconds(90)), milliseconds(90));
}

TEST(RoundTrips, NobodyIsFartherThanTheFarthest) {
  RoundTrips round_trips;
  EXPECT_EQ(round_trips.Note("here", seconds(5)), RoundTrips::kFarthest);
}

}  // namespace
}  // namespace hoplite::node
