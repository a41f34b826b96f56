// Random histories of whole nodes: no property may break, whatever fails when. A failure prints the
// command that tells its history.
#include <gtest/gtest.h>

#include "sim/node_world/run.h"
#include "testing/histories.h"

namespace hoplite::node_world {
namespace {

TEST(NodeWorld, TheSameSeedIsTheSameHistory) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Report first = World(Draw(seed)).Run();
    const Report second = World(Draw(seed)).Run();
    EXPECT_EQ(first.digest, second.digest) << seed;
    EXPECT_EQ(first.steps, second.steps) << seed;
    EXPECT_NE(first.digest, World(Draw(seed + 100)).Run().digest) << seed;
  }
}

TEST(NodeWorld, WithoutFaultsEverythingThatCanBeAnsweredIs) {
  Options options;
  options.calls = 40;
  for (options.seed = 1; options.seed <= 20; ++options.seed) {
    const Report report = World(options).Run();
    EXPECT_EQ(report.violation, "") << options.seed;
    EXPECT_GT(report.succeeded, 20u) << options.seed;
  }
}

// Words that are heard late, and processes that stand still for a moment, among all faults.
Options Noisy(std::uint64_t seed) {
  Options options = Draw(seed);
  if (seed % 3 != 0) options.link.late = std::chrono::milliseconds(seed % 60);
  if (seed % 3 != 1) options.stall_chance = 0.3;
  options.stall = std::chrono::milliseconds(seed % 60);
  return options;
}

TEST(NodeWorld, NoiseKeepsEveryProperty) {
  std::uint32_t changed = 0;
  const test::Seeds seeds = test::SeedsOf(1, 60);
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    const Report report = World(Noisy(seeds.first + i)).Run();
    ASSERT_EQ(report.violation, "") << seeds.first + i;
    changed += report.digest != World(Draw(seeds.first + i)).Run().digest ? 1 : 0;
  }
  EXPECT_GT(changed, seeds.count / 2);  // some end before anything stands still
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const std::uint64_t digest = World(Noisy(seed)).Run().digest;
    EXPECT_EQ(digest, World(Noisy(seed)).Run().digest) << seed;
  }
}

// Each broke a property once.
TEST(NodeWorld, HistoriesThatFoundSomethingKeepEveryProperty) {
  // A node that lacked nothing but END told one block less, and was sent to one behind it (R21);
  // one was sent again and again to a node of which the shard believed too much (R10); the world
  // itself took an input for held up at the moment when it might go, before its node ran (R46).
  for (const std::uint64_t seed : {1003244u, 1009471u, 5076828u, 2611255055u}) {
    Options options = Draw(seed);
    options.stripes = 1;  // as when they were found
    options.two_lanes = false;
    EXPECT_EQ(World(options).Run().violation, "") << seed;
  }
}

// One that could not connect to a source was moved from there and back, and never said so (R68); a
// coordinator kept the target of a commit that was repeated to it, and its shard did not know (R82); a
// node forgot a grant when its inventory passed what it had told early (R15); a shard kept a grant
// that its receiver had not named, since it named another one of the same source (R15); a shard gave
// readers a sum of some, and died before its coordinator had heard (R82); and three in which the world
// itself expected too much: of those who leave, of a store with gaps, of a shard to which nobody
// speaks.
TEST(NodeWorld, HistoriesBeyondTheFirstOnesKeepEveryProperty) {
  for (const std::uint64_t seed :
       {126458u, 1057260u, 2049503u, 3117885u, 3122062u, 52697u, 21411u, 37660u}) {
    EXPECT_EQ(World(Draw(seed)).Run().violation, "") << seed;
  }
}

// A shard that restarted confirms that a Put is taken back when it has collected (R15, R47); and a node
// that can't hear its shard does not learn of it. (The world took for lost what other nodes had under
// the same id: what was put before, and what a drained node had handed on.)
TEST(NodeWorld, WhatIsThereIsNotLostBecauseAnotherPutOfItIsTakenBack) {
  const Options newcomers = Draw(900671);
  const Options drains = Draw(3110663);
  ASSERT_GT(newcomers.newcomers, 0U);  // else nobody looks
  ASSERT_GT(drains.drains, 0U);
  EXPECT_EQ(World(newcomers).Run().violation, "");
  EXPECT_EQ(World(drains).Run().violation, "");
}

// A disk answered a node that was stopping, and had given up the memory that the bytes were to fill.
TEST(NodeWorld, ADiskMayAnswerANodeThatStops) {
  const Options disks = Draw(8161);
  ASSERT_GT(disks.disk_bytes, 0U);
  EXPECT_EQ(World(disks).Run().violation, "");
}

TEST(NodeWorld, WhatIsOwnedStaysAndGoesWithItsLastOwner) {
  Options options;
  options.calls = 30;
  options.owners = 8;
  for (options.seed = 1; options.seed <= 15; ++options.seed) {
    const Report report = World(options).Run();
    EXPECT_EQ(report.violation, "") << options.seed;
    EXPECT_GT(report.owned, 0u) << options.seed;
  }
  options.broken_sessions = 3;
  options.returns = 1;
  for (; options.seed <= 30; ++options.seed) {
    EXPECT_EQ(World(options).Run().violation, "") << options.seed;
  }
}

// All takes five times as long under the address sanitizer, which finds in a few histories what it
// would find in all.
#if __has_feature(address_sanitizer)
constexpr std::uint32_t kHistories = 125;
#else
constexpr std::uint32_t kHistories = 500;
#endif

TEST(NodeWorld, RandomHistoriesKeepEveryProperty) {
  const Tally tally = RunSeeds(1, kHistories);
  EXPECT_FALSE(tally.broken_seed) << tally.ToString();
  // They are about something: transfers broke off and went on, sums were made, some by rings.
  EXPECT_GT(tally.succeeded, tally.calls / 2);
  EXPECT_GT(tally.resumed, kHistories / 25);
  EXPECT_GT(tally.sums, kHistories / 5);
  EXPECT_GT(tally.rings, kHistories / 25);
  EXPECT_GT(tally.windows, kHistories / 10);
  EXPECT_GT(tally.forests, kHistories / 25);
}

}  // namespace
}  // namespace hoplite::node_world
