// Random histories with deaths, lost sessions, restarts, other bytes, deletes, cancels, evictions,
// subscriptions and nodes that begin to fetch other objects, too: no property may break. A failure prints the command that runs its history
// again.
#include "testing/histories.h"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>

#include "base/units.h"
#include "draw_noise.h"
#include "played.h"
#include "sim/kit/random.h"
#include "sim/planner_world/broadcast.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;

Options Draw(std::uint64_t seed) {
  Random random(seed * 7919);
  const auto up_to = [&random](std::uint32_t most) {
    return static_cast<std::uint32_t>(random.Below(most + 1));
  };
  Options options;
  options.seed = seed;
  options.nodes = 3 + up_to(21);
  options.size_bytes = 16_KiB * (1 + up_to(200)) + up_to(5000);
  options.bytes_per_second = 125'000'000;
  options.spread = random.Within(milliseconds(40));
  options.put_time = up_to(1) * random.Within(milliseconds(30));
  options.stripes = 1 + up_to(3);
  options.kills = up_to(std::min(options.nodes - 1, 4u));
  options.session_breaks = up_to(3);
  options.memory_waits = up_to(2);
  options.restarts = up_to(3) / 3;
  options.reputs = up_to(2);
  options.deletes = up_to(4) / 4;
  options.cancels = up_to(3);
  options.evictions = up_to(4);
  options.subscriptions = up_to(2);
  options.joins = up_to(3) / 2;
  if (up_to(3) == 0) options.room_bytes = 0;
  options.noise = DrawNoise(seed);
  return options;
}

class HistoriesTest : public testing::TestWithParam<int> {};

TEST_P(HistoriesTest, KeepEveryProperty) {
  constexpr std::uint64_t kSeedsOfACase = 100;
  std::uint64_t completed = 0;
  for (std::uint64_t i = 0; i < kSeedsOfACase; ++i) {
    const Options options = Draw(static_cast<std::uint64_t>(GetParam()) * kSeedsOfACase + i + 1);
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, 5u * kSeedsOfACase);  // most receivers got something
}

INSTANTIATE_TEST_SUITE_P(Seeds, HistoriesTest, testing::Range(0, 8));

// Small objects that the directory keeps, and whose bytes go on from node to node (R83).
Options DrawSmall(std::uint64_t seed) {
  Options options = Draw(seed);
  options.size_bytes = 100 + Random(seed * 15485863).Below(60'000);
  options.put_time = {};  // its bytes come with the Create
  options.stripes = 1;
  options.inline_limit_bytes = 64_KiB;
  options.full_link = true;
  options.links.sites = static_cast<std::uint32_t>(1 + seed % 2);
  return options;
}

TEST(Histories, OfSmallObjectsKeepEveryProperty) {
  std::uint64_t completed = 0;
  const test::Seeds seeds = test::SeedsOf(1, 2'000);
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    const Result<Report> report = RunBroadcast(DrawSmall(seeds.first + i));
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, 5U * seeds.count);
}

// Links and sites that differ, and change: receivers move from source to source.
Options DrawUnequal(std::uint64_t seed) {
  Random random(seed * 611953);
  Options options = Draw(seed);
  options.nodes = static_cast<std::uint32_t>(3 + random.Below(14));
  options.kills = std::min(options.kills, options.nodes - 1);
  options.size_bytes = 100'000 + random.Below(8_MiB);
  options.spread = random.Within(milliseconds(400));
  options.bytes_per_second = 25'000'000;
  const auto rate = [&random] { return 1'000'000 + random.Below(24'000'000); };
  for (std::uint32_t i = 0; i < options.nodes; ++i)
    options.links.bytes_per_second.push_back(rate());
  for (std::uint64_t i = random.Below(4); i > 0; --i) {
    options.links.changes.push_back(
        {.node = static_cast<std::uint32_t>(random.Below(options.nodes)),
         .at = random.Within(milliseconds(1500)),
         .bytes_per_second = rate()});
  }
  options.links.sites = static_cast<std::uint32_t>(1 + random.Below(3));
  if (options.links.sites > 1) options.links.between_per_second = rate();
  options.unmeasured = random.Below(3) == 0;
  if (random.Below(4) == 0) options.cuts = 1;
  return options;
}

// A chain of two nodes leaves the books while it goes on to pull from one that left before; then that
// one returns, and all have as much.
TEST(Histories, ANodeIsNoReceiverOfThoseWhoGetItsBytesThroughOthersThatLeft) {
  Played(DrawUnequal(8399));
}

// A FETCH is held that the directory has allowed; it starts again, and sends the source to somebody
// behind the one who holds that FETCH (R7).
TEST(Histories, AHeldFetchIsNotServedByTheWordOfADirectoryThatIsGone) {
  Played(DrawUnequal(11662));
  Played(DrawUnequal(33890));
}

TEST(Histories, OfUnequalLinksKeepEveryProperty) {
  std::uint64_t completed = 0;
  const test::Seeds seeds = test::SeedsOf(1, 600);
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    const Options options = DrawUnequal(seeds.first + i);
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, 4U * seeds.count);
}

// Of many, who move at once.
TEST(Histories, OfManyOnUnequalLinksKeepEveryProperty) {
  std::uint64_t completed = 0;
  const test::Seeds seeds = test::SeedsOf(1, 2);
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    Options options = DrawUnequal(seeds.first + i);
    options.nodes = 1000;
    options.noise.unfair = 1;
    options.kills = static_cast<std::uint32_t>((seeds.first + i) % 100);
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, 400U * seeds.count);
}

// So many that a forest is best, over links on which it is seen: some of these die, lose their
// sessions or come late, and the shard forgets it all.
Options DrawMany(std::uint64_t seed) {
  Random random(seed * 104729);
  Options options = Draw(seed);
  options.nodes = static_cast<std::uint32_t>(60 + random.Below(100));
  options.size_bytes = 1_MiB + random.Below(4_MiB);
  options.bytes_per_second = 1'250'000'000;
  options.stripes = random.Below(2) == 0 ? 4 : 16;
  options.spread = random.Within(milliseconds(3));
  options.put_time = options.put_time / 10;
  options.kills = static_cast<std::uint32_t>(random.Below(20));
  options.session_breaks = static_cast<std::uint32_t>(random.Below(6));
  return options;
}

TEST(Histories, OfVeryManyKeepEveryProperty) {
  std::uint64_t completed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Options options = DrawMany(seed);
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, 60U * 40);
}

// Any two that wait together get a forest, so that few nodes make one: there each death, restart and
// cancel meets another moment of it.
TEST(Histories, OfSmallForestsKeepEveryProperty) {
  std::uint64_t completed = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Options options = Draw(seed);
    options.stripes = seed % 2 == 0 ? 2 : 8;
    options.forest_from = 2;
    if (seed % 3 == 0) options.spread = Duration{0};
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, 120U * 5);
}

// Some can't connect to others, for a while or to the end, one way or both (R68).
TEST(Histories, OfPairsThatCannotConnectKeepEveryProperty) {
  std::uint64_t completed = 0;
  const test::Seeds seeds = test::SeedsOf(1, 400);
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    Options options = Draw(seeds.first + i);
    options.nodes = 2 + options.nodes % 7;
    options.kills = std::min(options.kills, options.nodes - 2) / 2;
    options.cuts = 1 + options.seed % 3;
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, seeds.count);
}

// Whoever still gets bytes when others give up does not wait in vain.
TEST(Histories, ASlowLinkIsNotTakenForACutOne) {
  Options options{.nodes = 8, .size_bytes = 64_MiB};
  options.bytes_per_second = 6'250'000;
  options.slow_nodes = 1;
  options.cuts = 3;
  options.kills = 1;
  options.seed = 539650;
  options.apart = std::chrono::milliseconds(50);
  const Result<Report> report = RunBroadcast(options);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->violation, "") << report->replay;
}

// Planted faults must be found by random histories, too, and the message must replay it.
void ExpectFound(PlantedFault fault, const std::string& broken,
                 const std::function<void(Options&)>& provoke) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Options options = Draw(seed);
    provoke(options);
    options.fault = fault;
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report);
    if (report->violation.empty()) continue;
    EXPECT_THAT(report->violation, testing::HasSubstr(broken));
    EXPECT_TRUE(report->replay.starts_with("hoplite sim broadcast --nodes")) << report->replay;
    return;
  }
  FAIL() << "200 histories did not find it";
}

TEST(Histories, FindADeadNodeThatIsHandedOut) {
  ExpectFound(PlantedFault::kHandsOutDeadNodes, "P4", [](Options&) {});
}

// The producer dies when both receivers have the object; both want to drop it.
Options LastCopies(std::uint64_t seed) {
  Options options;
  options.seed = seed;
  options.nodes = 3;
  options.size_bytes = 256_KiB;
  options.bytes_per_second = 125'000'000;
  options.kill_at = {{0, milliseconds(3)}};
  options.evictions = 8;
  return options;
}

TEST(Histories, FindALastCopyThatIsDropped) {
  ExpectFound(PlantedFault::kDropsTheLastCopy, "told to drop the last copy",
              [](Options& options) { options = LastCopies(options.seed); });
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Result<Report> report = RunBroadcast(LastCopies(seed));
    ASSERT_TRUE(report);
    ASSERT_EQ(report->violation, "") << report->replay;
  }
}

}  // namespace
}  // namespace hoplite::sim
