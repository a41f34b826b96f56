// Ten thousand nodes at 10 Gbit/s and 100 us.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/broadcast.h"
#include "sim/planner_world/reduce.h"
#include "testing/histories.h"

namespace hoplite::sim {
namespace {

Report TenThousand(std::uint64_t size, std::uint32_t stripes = 0) {
  const Result<Report> report =
      RunBroadcast({.nodes = 10'000, .size_bytes = size, .stripes = stripes});
  EXPECT_TRUE(report);
  EXPECT_EQ(report->violation, "");
  EXPECT_EQ(report->completed, 9'999u);
  return *report;
}

double Best(const Report& report) {
  return std::min(report.line_seconds, report.best_tree_seconds);
}

TEST(Scaling, AWholeObjectPerStreamStaysNearTheBestTree) {
  const Report report = TenThousand(16_MiB, 1);
  EXPECT_LT(report.seconds, 1.2 * Best(report)) << ToText(report);
}

// Each node sends the object once, and stands behind few others.
TEST(Scaling, AForestStaysNearTheBound) {
  EXPECT_LT(TenThousand(16_MiB, 4).ratio(), 1.18);
  EXPECT_LT(TenThousand(1_GiB, 4).ratio(), 1.02);
}

// One in a hundred dies while the object is on its way.
TEST(Scaling, DeathsInAForestCostAFewHops) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Result<Report> report = RunBroadcast(
        {.nodes = 1000, .size_bytes = 16_MiB, .seed = seed, .kills = 24, .stripes = 16});
    ASSERT_TRUE(report);
    ASSERT_EQ(report->violation, "") << report->replay;
    EXPECT_LT(report->ratio(), 1.2) << report->replay;
  }
}

// Their places are given out in batches: planned one by one each would stand behind the one before.
TEST(Scaling, WhoeverComesLaterStandsBehindFew) {
  Options options{.nodes = 1000, .size_bytes = 16_MiB, .stripes = 4};
  options.spread = std::chrono::milliseconds(10);
  const Result<Report> report = RunBroadcast(options);
  ASSERT_TRUE(report);
  EXPECT_LT(report->seconds, 0.010 + 1.2 * report->bound_seconds) << report->replay;
}

// Beyond what a ring is good for: 1.11 and 1.003.
TEST(Scaling, AnAllreduceOfVeryManyGoesUpTwoTreesAndDownAForest) {
  const auto ratio = [](std::uint64_t size) {
    Options options{.nodes = 1'000, .size_bytes = size};
    options.reduce.emplace();
    options.reduce->everyone_gets = options.reduce->everyone_reads = true;
    const Result<Report> report = RunReduce(options);
    EXPECT_TRUE(report);
    EXPECT_EQ(report->violation, "") << report->replay;
    EXPECT_EQ(report->roots, 2U);
    EXPECT_EQ(report->completed, 1'000U);
    return report->ratio();
  };
  EXPECT_LT(ratio(16_MiB), 1.15);
  EXPECT_LT(ratio(1_GiB), 1.02);
}

// Here the messages between a node and the directory take a quarter of the time. Three of them do: the
// question is the Want, too (R63).
TEST(Scaling, SmallObjectsStayNearTheBestTreeAfterTheMessages) {
  const Report report = TenThousand(64_KiB);
  EXPECT_LT(report.seconds - 3 * 100e-6, 1.05 * Best(report)) << ToText(report);
  EXPECT_LT(report.seconds, 8.5 * report.bound_seconds) << ToText(report);
}

// The closed form of the line alone is 40 times longer, and a star's 5000 times.
TEST(Scaling, TenThousandSourcesStayNearTheBestForcedDegree) {
  if (!test::ItsTurn()) GTEST_SKIP() << test::kNotItsTurn;
  for (const std::uint64_t size : {128_KiB, 16_MiB, 1_GiB}) {
    Options options{.nodes = 10'000, .size_bytes = size};
    options.reduce.emplace();
    const auto seconds = [&](std::uint32_t degree) {
      options.reduce->degree = degree;
      const Result<Report> report = RunReduce(options);
      EXPECT_TRUE(report);
      EXPECT_EQ(report->violation, "") << report->replay;
      EXPECT_TRUE(report->committed);
      return report->seconds;
    };
    const double chosen = seconds(0);
    double best = seconds(2);
    for (const std::uint32_t degree : {3U, 4U, 8U, 16U}) best = std::min(best, seconds(degree));
    EXPECT_LE(chosen, 1.2 * best) << size;
  }
}

}  // namespace
}  // namespace hoplite::sim
