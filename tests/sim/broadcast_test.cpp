// Broadcasts in the planner world: their times against the closed forms.
#include "sim/planner_world/broadcast.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "played.h"

namespace hoplite::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Broadcast, TwoNodesNeedOneTransferAndFiveMessages) {
  const Report report = Played({.nodes = 2, .size_bytes = 1_GiB});
  EXPECT_EQ(report.completed, 1u);
  EXPECT_EQ(report.depth, 1u);
  // Locate, Located, Want, Grant and the fetch come before the first byte.
  EXPECT_NEAR(report.seconds, report.bound_seconds + 5 * 100e-6, 1e-6);
}

// Of what fits the room that a node holds while it asks, the answer comes with the grant (R63).
TEST(Broadcast, ASmallObjectNeedsThreeMessages) {
  const Options with_room{.nodes = 2, .size_bytes = 1_MiB};
  Options without = with_room;
  without.room_bytes = 1_MiB - 1;
  const double bound = Played(with_room).bound_seconds;
  EXPECT_NEAR(Played(with_room).seconds, bound + 3 * 100e-6, 1e-6);
  EXPECT_NEAR(Played(without).seconds, bound + 5 * 100e-6, 1e-6);
}

TEST(Broadcast, SimultaneousReceiversOfALargeObjectFormALine) {
  const Report report = Played({.nodes = 16, .size_bytes = 256_MiB});
  EXPECT_EQ(report.completed, 15u);
  EXPECT_EQ(report.depth, 15u);
  EXPECT_LT(report.seconds, 1.01 * report.line_seconds);
}

TEST(Broadcast, ManyReceiversOfASmallObjectFormATree) {
  const Report report = Played({.nodes = 1000, .size_bytes = 64_KiB});
  EXPECT_LT(report.depth, 12u);
  EXPECT_LT(report.seconds, report.best_tree_seconds * 1.2 + 5 * 100e-6);
}

// 27 of its stripes have no block: they make room for no more receivers at a node.
TEST(Broadcast, StripesWithoutBlocksMakeNoTreeWider) {
  Options options{.nodes = 24, .size_bytes = 64_KiB};
  options.bytes_per_second = 12'500'000;
  options.stripes = 31;
  const Report report = Played(options);
  EXPECT_EQ(report.depth, 4u);
  EXPECT_LT(report.seconds, report.best_tree_seconds * 1.2 + 5 * 100e-6);
}

TEST(Broadcast, TimeIsFlatInTheNumberOfNodesForLargeObjects) {
  const double two = Played({.nodes = 2, .size_bytes = 1_GiB}).seconds;
  for (const std::uint32_t nodes : {4u, 8u, 16u, 32u, 64u}) {
    EXPECT_LT(Played({.nodes = nodes, .size_bytes = 1_GiB}).seconds, 1.02 * two) << nodes;
  }
}

// But for the time that the first pass waits, here 2.3 %, and what one that is moved behind a
// newcomer waits for once more: at most 5 %.
TEST(Broadcast, WhoComesLaterIsDoneOneTransferAfterItCame) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Report report =
        Played({.nodes = 32, .size_bytes = 256_MiB, .seed = seed, .spread = seconds(1)});
    EXPECT_EQ(report.completed, 31u);
    EXPECT_LT(report.slowest_get_seconds, 1.075 * report.bound_seconds) << report.replay;
  }
}

// No node has the object whole any more, and none puts it again: nodes go on waiting, but nothing
// happens.
TEST(Broadcast, ComesToRestWhenTheOnlySourceDies) {
  Options options{.nodes = 4, .size_bytes = 64_MiB};
  options.kill_at = {{.node = 0, .at = milliseconds(20)}};
  const Report report = Played(options);
  EXPECT_EQ(report.died, 1u);
  EXPECT_EQ(report.completed, 0u);
}

TEST(Broadcast, AGrowingPutIsReadAsItGrows) {
  const Report report = Played({.nodes = 8, .size_bytes = 64_MiB, .put_time = milliseconds(500)});
  EXPECT_LT(report.seconds, 0.5 + 0.02);
}

// A relay's links carry a tenth of the others': those behind it pass it, and it is last. (Of one
// stripe: the simulated stripes of a stream grow alike, and a slow one's marks would seldom move,
// all at once. A node sends block after block.)
TEST(Broadcast, NobodyWaitsForASlowRelay) {
  const Report report = Played({.nodes = 6,
                                .size_bytes = 64_MiB,
                                .bytes_per_second = 12'500'000,
                                .slow_nodes = 1,
                                .stripes = 1});
  EXPECT_EQ(report.completed, 5u);
  EXPECT_LT(report.fast_seconds, 1.15 * report.bound_seconds);
  EXPECT_LT(report.seconds, 10.5 * report.bound_seconds);
}

// In a forest it serves nobody any more, and others serve one more for it.
TEST(Broadcast, NobodyWaitsForASlowNodeOfAForest) {
  const Report report = Played({.nodes = 100,
                                .size_bytes = 64_MiB,
                                .bytes_per_second = 125'000'000,
                                .slow_nodes = 1,
                                .stripes = 16});
  EXPECT_EQ(report.completed, 99u);
  EXPECT_LT(report.fast_seconds, 2 * report.bound_seconds);
}

// The stream of the one that passes must end, and the next begin, before it can prove anything: that
// takes six latencies until it is heard of.
TEST(Broadcast, NobodyWaitsForASlowRelayBehindLongLinksEither) {
  for (const int latency : {20, 50, 100, 200, 300}) {
    const Report report = Played({.nodes = 6,
                                  .size_bytes = 64_MiB,
                                  .bytes_per_second = 12'500'000,
                                  .latency = milliseconds(latency),
                                  .slow_nodes = 1,
                                  .stripes = 1});
    EXPECT_EQ(report.completed, 5u);
    EXPECT_LT(report.fast_seconds, 2 * report.bound_seconds) << latency;
  }
}

// No relay is suspected of being slow where all are alike; only the first time one trial finds out
// what the source's link carries.
TEST(Broadcast, EqualRelaysKeepTheirPlaces) {
  const Report report =
      Played({.nodes = 6, .size_bytes = 64_MiB, .bytes_per_second = 12'500'000, .rounds = 2});
  EXPECT_EQ(report.moves, 0u);
  EXPECT_EQ(report.rounds.at(0).trials, 2u);
  EXPECT_LT(report.rounds.at(0).stretch, 1.05);
  EXPECT_EQ(report.rounds.at(1).trials, 0u);
  EXPECT_LT(report.rounds.at(1).stretch, 1.01);
}

// The shard that began it is gone, or has lost a word of it: of two that share their source one goes
// behind the other all the same. Nor do streams that grow for long share it to the end.
TEST(Broadcast, ATrialEndsWhateverItsShardForgets) {
  const Options line{.nodes = 3,
                     .size_bytes = 256_MiB,
                     .bytes_per_second = 12'500'000,
                     .latency = microseconds(100),
                     .apart = milliseconds(100)};
  Options restart = line;
  restart.seed = 113;
  restart.restarts = 1;
  EXPECT_LT(Played(restart).stretch, 1.1);
  Options breaks = line;
  breaks.seed = 103;
  breaks.session_breaks = 1;
  EXPECT_LT(Played(breaks).stretch, 1.1);
  Options grows = line;
  grows.noise.begins = seconds(2);
  EXPECT_LT(Played(grows).stretch, 1.3);
}

TEST(Broadcast, ADeathInTheMiddleOfALineCostsLittle) {
  const Report whole = Played({.nodes = 8, .size_bytes = 256_MiB});
  Options options{.nodes = 8, .size_bytes = 256_MiB};
  for (std::uint32_t node = 1; node < 8; ++node) {
    options.kill_at = {{.node = node, .at = milliseconds(100)}};
    const Report report = Played(options);
    EXPECT_EQ(report.completed, 6u);
    EXPECT_LT(report.seconds, 1.05 * whole.seconds) << report.replay;
    EXPECT_LT(report.bytes_sent_again, 1_MiB) << report.replay;
  }
}

TEST(Broadcast, ARestartOfTheDirectoryDoesNotStopBytes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Report report = Played({.nodes = 8, .size_bytes = 256_MiB, .seed = seed, .restarts = 1});
    EXPECT_EQ(report.completed, 7u) << report.replay;
  }
}

TEST(Broadcast, InlineObjectsNeedNoTransfer) {
  const Report report = Played({.nodes = 8, .size_bytes = 1_KiB, .inline_limit_bytes = 64_KiB});
  EXPECT_EQ(report.completed, 7u);
  EXPECT_EQ(report.depth, 0u);
}

TEST(Broadcast, TheSameSeedGivesTheSameHistory) {
  const Options options{.nodes = 16,
                        .size_bytes = 16_MiB,
                        .seed = 11,
                        .spread = milliseconds(10),
                        .kills = 3,
                        .restarts = 1};
  EXPECT_EQ(ToJson(Played(options)), ToJson(Played(options)));
}

TEST(Broadcast, BadOptionsAreAnError) {
  const Result<Report> report = RunBroadcast({.nodes = 0});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(RunBroadcast({.rounds = 0}));
}

}  // namespace
}  // namespace hoplite::sim
