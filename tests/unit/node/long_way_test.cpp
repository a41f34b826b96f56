#include "node/streams/long_way.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "far_link.h"

namespace hoplite::node {
namespace {

using std::chrono::milliseconds;

constexpr double kWayRate = FarLink::kRate;
constexpr std::uint64_t kOwnQueue = 256_KiB;

// What a round trip of the way brought, one after the other; the first begins at 0.
constexpr Duration kWay = milliseconds(100);

LongWay To(Duration way, bool neighbour) {
  LongWay far;
  far.SetWay(way, neighbour);
  return far;
}

// What round trips of a way bring: all of it by one stream, or as much by each of several.
class Rounds {
 public:
  explicit Rounds(LongWay& way, int streams = 1) : way_(way), streams_(streams) { Tell(); }

  void Bring(std::uint64_t bytes) {
    constexpr int kPieces = 100;
    for (int i = 0; i < kPieces; ++i) {
      now_ += kWay / kPieces;
      received_ += bytes / kPieces;
      Tell();
    }
  }

 private:
  void Tell() {
    const auto all = received_ * static_cast<std::uint64_t>(streams_);
    way_.Came(now_, {.own = received_, .all = all, .streams = streams_});
  }

  LongWay& way_;
  const int streams_;
  Time now_{};
  std::uint64_t received_ = 0;
};

// Within a quarter: what came is looked at by parts of a round trip.
void ExpectTwice(const LongWay& way, double rate, std::uint64_t brought) {
  const auto holds = static_cast<double>(way.Holds(rate, kOwnQueue));
  EXPECT_GE(holds, 2. * static_cast<double>(brought));
  EXPECT_LE(holds, 2.5 * static_cast<double>(brought));
}

TEST(LongWay, HoldsTwiceWhatTheLastRoundTripBrought) {
  LongWay way = To(kWay, false);
  Rounds rounds(way);
  EXPECT_EQ(way.Holds(0, kOwnQueue), 0u);
  rounds.Bring(100'000);
  EXPECT_EQ(way.Holds(0, kOwnQueue), 200'000u);
  rounds.Bring(200'000);
  ExpectTwice(way, 0, 200'000);
  rounds.Bring(200'000);
  ExpectTwice(way, 0, 200'000);
  EXPECT_EQ(way.Holds(kWayRate, kOwnQueue), 1'250'000u) << "its rate brings more";
}

TEST(LongWay, DoublesUntilThreeRoundTripsBroughtNoMore) {
  struct Row {
    std::vector<std::uint64_t> brought;  // in units of 10 kB
    bool doubles;
  };
  for (const Row& row :
       {Row{{10, 12, 12}, true}, Row{{10, 12, 12, 12}, false}, Row{{10, 12, 12, 16, 16, 16}, true},
        Row{{10, 12, 12, 16, 16, 16, 16}, false}, Row{{40, 1, 1}, true},
        Row{{40, 1, 1, 1}, false}}) {
    LongWay way = To(kWay, false);
    Rounds rounds(way);
    for (const std::uint64_t tens : row.brought) rounds.Bring(tens * 10'000);
    EXPECT_EQ(way.Holds(0, kOwnQueue) > 0, row.doubles) << row.brought.size();
  }
}

TEST(LongWay, ARoundTripWhoseSourceHadNothingSaysNothing) {
  LongWay way = To(kWay, false);
  Rounds rounds(way);
  rounds.Bring(400'000);
  for (int i = 0; i < 5; ++i) {
    way.Starved();
    rounds.Bring(10'000);
  }
  rounds.Bring(400'000);
  ExpectTwice(way, 0, 400'000);
}

// Each of two that come in turns seems to have all of the link at times.
TEST(LongWay, DoublesNoMoreThanTheMeanOfTheStreams) {
  LongWay way = To(kWay, false);
  way.Came(Time{}, {.own = 0, .all = 0, .streams = 4});
  way.Came(Time{} + kWay, {.own = 400'000, .all = 800'000, .streams = 4});
  EXPECT_EQ(way.Holds(0, kOwnQueue), 400'000u);
}

// The queue alone fills a short way, and a way that was measured may be no more than one.
TEST(LongWay, WithinASiteAWayCountsWhereItHoldsMoreThanHalfOfTheQueue) {
  struct Row {
    Duration way;
    bool neighbour;
    std::uint64_t bytes;
  };
  for (const Row& row :
       {Row{milliseconds(0), true, 0}, Row{milliseconds(1), false, 12'500},
        Row{milliseconds(1), true, 0}, Row{milliseconds(10), true, 0},
        Row{milliseconds(11), true, 137'500}, Row{milliseconds(10), false, 125'000},
        Row{milliseconds(100), true, 1'250'000}}) {
    EXPECT_EQ(To(row.way, row.neighbour).Holds(kWayRate, kOwnQueue), row.bytes) << row.way.count();
  }
}

TEST(LongWay, HoldsWhatItsNewLengthSays) {
  LongWay way = To(kWay, false);
  Rounds rounds(way);
  rounds.Bring(100'000);
  way.SetWay(kWay / 2, false);
  EXPECT_EQ(way.Holds(kWayRate, kOwnQueue), 625'000u);
  way.SetWay(2 * kWay, false);
  EXPECT_EQ(way.Holds(kWayRate, kOwnQueue), 2'500'000u);
}

constexpr double kMoved = 64e6;

// Nothing but TCP's own window bounds the other one: what credit costs, for any number of streams.
TEST(LongWay, ALongWayIsFilledAsFastAsTcpFillsIt) {
  for (const int ms : {20, 100, 150, 300}) {
    for (const int streams : {1, 2, 8}) {
      for (const bool neighbour : {false, true}) {
        const milliseconds way(ms);
        FarLink with(way, way, streams, neighbour);
        FarLink without(way, FarLink::kNoCredit, streams);
        const double free = without.Move(kMoved);
        EXPECT_LT(with.Move(kMoved), 1.15 * free) << ms << " ms, " << streams << " streams";
        EXPECT_LT(with.longest_queue(), way + way * 3 / 5 + milliseconds(60))
            << ms << " " << streams;
      }
    }
  }
}

// Heartbeats pass within the time after which a peer counts as silent.
TEST(LongWay, AQueueThatIsTakenForDistanceBecomesNoMoreThanThreeTimesAsLong) {
  for (const int ms : {0, 10, 46, 100}) {
    for (const int streams : {1, 2, 8}) {
      const milliseconds queue(ms);
      FarLink link(milliseconds(1), queue, streams, true);
      link.Move(kMoved);
      EXPECT_LT(link.longest_queue(), queue * 5 / 2 + milliseconds(90)) << ms << " " << streams;
    }
  }
}

}  // namespace
}  // namespace hoplite::node
