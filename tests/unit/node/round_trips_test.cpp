#include "node/streams/round_trips.h"

#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

using Place = RoundTrips::Place;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kStall = milliseconds(700);

RoundTrips::Sample Quiet(Duration way) { return {.way = way, .quiet = true}; }
RoundTrips::Sample Busy(Duration way) { return {.way = way, .quiet = false}; }

TEST(RoundTrips, AreZeroUntilSomethingWasMeasured) {
  RoundTrips round_trips(kStall);
  EXPECT_EQ(round_trips.nearest(), Duration{0});
  EXPECT_EQ(round_trips.Least(Place::kSite, "here", Quiet(Duration{0}), Time{}), Duration{0});
  EXPECT_EQ(round_trips.nearest(), Duration{0});
}

// The centre of a star collects from all at once: its connections are made through its own full
// link.
TEST(RoundTrips, WhatWasMeasuredThroughAQueueDoesNotCount) {
  RoundTrips round_trips(kStall);
  round_trips.NoteNearest(microseconds(100));
  for (std::size_t i = 1; i < RoundTrips::kSamples; ++i) round_trips.NoteNearest(milliseconds(20));
  EXPECT_EQ(round_trips.nearest(), microseconds(100));
}

TEST(RoundTrips, TheNearestFollowsPeersThatAreFartherAway) {
  RoundTrips round_trips(kStall);
  round_trips.NoteNearest(microseconds(100));
  for (std::size_t i = 0; i < RoundTrips::kSamples; ++i) round_trips.NoteNearest(milliseconds(2));
  EXPECT_EQ(round_trips.nearest(), milliseconds(2));
}

// A place is as near as it ever was in the last minutes, and says nothing of another.
TEST(RoundTrips, APlaceIsAsFarAsTheBestConnectionToItSays) {
  struct Row {
    const char* place;
    RoundTrips::Sample sample;
    Duration after;  // the start
    Duration counts;
  };
  for (const Place place : {Place::kSite, Place::kNeighbour}) {
    RoundTrips round_trips(kStall);
    for (const Row& row : {Row{"here", Quiet(milliseconds(50)), seconds(0), milliseconds(50)},
                           Row{"here", Busy(milliseconds(20)), seconds(1), milliseconds(20)},
                           Row{"here", Quiet(milliseconds(90)), seconds(2), milliseconds(20)},
                           Row{"here", Quiet(Duration{0}), seconds(3), milliseconds(20)},
                           Row{"there", Quiet(milliseconds(90)), seconds(3), milliseconds(90)},
                           Row{"here", Busy(milliseconds(90)), minutes(9), milliseconds(20)},
                           Row{"here", Quiet(milliseconds(80)), minutes(9), milliseconds(80)},
                           Row{"here", Quiet(milliseconds(90)), minutes(10), milliseconds(80)}}) {
      EXPECT_EQ(round_trips.Least(place, row.place, row.sample, Time{} + row.after), row.counts)
          << row.place << " after " << ToSeconds(row.after) << " s";
    }
  }
}

// Over a full link to a new site something has to be known; in the own one nothing is.
TEST(RoundTrips, WithinASiteOnlyQuietSamplesSayThatAWayIsLong) {
  RoundTrips round_trips(kStall);
  EXPECT_EQ(round_trips.Least(Place::kSite, "a", Busy(milliseconds(90)), Time{}), milliseconds(90));
  EXPECT_EQ(round_trips.Least(Place::kNeighbour, "a", Busy(milliseconds(90)), Time{}), Duration{0});
  EXPECT_EQ(round_trips.Least(Place::kNeighbour, "a", Quiet(milliseconds(60)), Time{}),
            milliseconds(60));
  EXPECT_EQ(round_trips.Least(Place::kNeighbour, "a", Busy(milliseconds(90)), Time{}),
            milliseconds(60));
}

TEST(RoundTrips, ItIsQuietWhileNoStreamBringsBytes) {
  RoundTrips round_trips(kStall);
  const Time now{};
  EXPECT_TRUE(round_trips.QuietSince(now)) << "none ever did";
  round_trips.NoteBytes(now);
  EXPECT_FALSE(round_trips.QuietSince(now + RoundTrips::kQuiet));
  EXPECT_TRUE(round_trips.QuietSince(now + RoundTrips::kQuiet + milliseconds(1)));
  round_trips.NoteBytes(now + seconds(1));
  EXPECT_FALSE(round_trips.QuietSince(now + milliseconds(500))) << "some came after that moment";
}

// A call and its answer must come within the stall time.
TEST(RoundTrips, NobodyIsFartherThanJustBelowHalfTheStallTime) {
  RoundTrips round_trips(kStall);
  const Duration way = round_trips.Least(Place::kSite, "far", Quiet(seconds(5)), Time{});
  EXPECT_LT(2 * way, kStall);
  EXPECT_GT(way, milliseconds(340));
}

}  // namespace
}  // namespace hoplite::node
