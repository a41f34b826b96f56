// Reductions in the planner world: times beside the closed forms, chosen degrees beside forced
// ones, and planted faults, each named by the property that it breaks.
#include "sim/planner_world/reduce.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Options Of(std::uint32_t nodes, std::uint64_t size) {
  Options options;
  options.nodes = nodes;
  options.size_bytes = size;
  options.reduce.emplace();
  return options;
}

Report Simulated(const Options& options) {
  const Result<Report> report = RunReduce(options);
  EXPECT_TRUE(report) << report.error().ToString();
  if (!report) return {};
  EXPECT_EQ(report->violation, "") << report->replay;
  return *report;
}

double SecondsWithDegree(Options options, std::uint32_t degree) {
  options.reduce->degree = degree;
  return Simulated(options).seconds;
}

TEST(SimReduce, ALineTakesItsClosedForm) {
  const Report report = Simulated(Of(8, 16_MiB));
  EXPECT_TRUE(report.committed);
  EXPECT_EQ(report.degree, 1U);
  EXPECT_EQ(report.depth, 7U);
  EXPECT_NEAR(report.seconds, report.best_tree_seconds, 12 * 100e-6);
}

TEST(SimReduce, ATreeTakesItsClosedForm) {
  Options options = Of(15, 16_MiB);
  options.reduce->degree = 2;
  const Report report = Simulated(options);
  EXPECT_EQ(report.depth, 3U);
  EXPECT_NEAR(report.seconds, report.best_tree_seconds, 12 * 100e-6);
}

TEST(SimReduce, SourcesOfOneNodeLeaveItOnce) {
  Options options = Of(4, 16_MiB);
  options.reduce->sources = 16;
  const Report report = Simulated(options);
  EXPECT_EQ(report.depth, 3U);
  EXPECT_LT(report.ratio(), 1.1);
}

// Nodes stand in two sites, in turn. Else each of the seven sums would cross, and the sum itself
// to each of its readers; a ring takes each way nearly twice.
TEST(SimReduce, OnePartialSumLeavesASiteAndOneSumEntersIt) {
  Options options = Of(8, 16_MiB);
  options.bytes_per_second = 12'500'000;
  options.links.sites = 2;
  options.links.between_per_second = options.bytes_per_second / 4;
  EXPECT_LT(Simulated(options).ratio(), 1.1);
  options.reduce->everyone_gets = true;
  for (const bool everyone_reads : {false, true}) {
    options.reduce->everyone_reads = everyone_reads;
    const Report line = Simulated(options);
    EXPECT_EQ(line.roots, 1U);
    EXPECT_LT(line.seconds, 4.5 * 16_MiB / static_cast<double>(options.bytes_per_second));
  }
}

// done <= 1.1 x (S/B + levels above it x (latency + block/B)) after the last one came
TEST(SimReduce, ALateSourceCostsItsOwnWayUpOnly) {
  Options options = Of(8, 16_MiB);
  options.reduce->staggered = true;
  options.spread = milliseconds(400);
  const Report report = Simulated(options);
  const double last_came = 0.4 * 7 / 8;
  EXPECT_LT(report.seconds - last_came, 1.1 * report.bound_seconds);
}

TEST(SimReduce, OnlyTheFirstKAreWaitedFor) {
  Options options = Of(8, 1_MiB);
  options.reduce->staggered = true;
  options.reduce->num_objects = 4;
  options.spread = milliseconds(800);
  EXPECT_LT(Simulated(options).seconds, 0.35);
}

TEST(SimReduce, EveryoneHasTheSumSoonAfterTheRoot) {
  Options options = Of(8, 64_MiB);
  const double reduced = Simulated(options).seconds;
  options.reduce->everyone_gets = true;
  const Report report = Simulated(options);
  EXPECT_EQ(report.completed, 8U);
  // Each down link carries two objects, and the second one starts with the first.
  EXPECT_LT(report.seconds, 1.05 * 2 * 64_MiB / 1.25e9);
  EXPECT_GT(report.seconds, reduced);
}

// Smaller objects are folded without a tree.
TEST(SimReduce, TheChosenDegreeIsNotMoreThanATenthOffTheBestForcedOne) {
  for (const std::uint32_t nodes : {2U, 5U, 16U, 40U}) {
    for (const std::uint64_t size : {128_KiB, 512_KiB, 4_MiB, 32_MiB}) {
      for (const auto latency : {microseconds(20), microseconds(1000), microseconds(20000)}) {
        for (const std::uint64_t rate : {12'500'000UL, 1'250'000'000UL}) {
          Options options = Of(nodes, size);
          options.latency = latency;
          options.bytes_per_second = rate;
          const double chosen = Simulated(options).seconds;
          for (const std::uint32_t forced : {1U, 2U, nodes}) {
            EXPECT_LE(chosen, 1.1 * SecondsWithDegree(options, forced))
                << ReplayCommand(options) << ", degree " << forced;
          }
        }
      }
    }
  }
}

TEST(SimReduce, TheSameSeedGivesTheSameHistory) {
  Options options = Of(12, 1_MiB);
  options.kills = 3;
  options.spread = milliseconds(20);
  options.reduce->put_again = milliseconds(10);
  const std::string first = ToJson(Simulated(options));
  EXPECT_EQ(ToJson(Simulated(options)), first);
  options.seed = 2;
  EXPECT_NE(ToJson(Simulated(options)), first);
}

TEST(SimReduce, ATaskThatComesBackCompletesIt) {
  Options options = Of(6, 16_MiB);
  options.reduce->put_again = milliseconds(50);
  options.kill_at = {{3, milliseconds(5)}};
  EXPECT_TRUE(Simulated(options).committed);
  options.reduce->put_again = Duration{0};
  EXPECT_FALSE(Simulated(options).committed);
  options.reduce->num_objects = 5;  // a spare takes its place
  const Report report = Simulated(options);
  EXPECT_TRUE(report.committed);
  EXPECT_LT(report.seconds, 0.1);
}

// Also if the second one comes while the directory is down. (It came back from each. Nodes that had
// a session since the first return never heard of the second, nor told it what they had.)
TEST(SimReduce, TwoRestartsOfTheDirectoryStartItAgain) {
  Options options = Of(2, 16_MiB);
  options.bytes_per_second = 125'000'000;
  options.stripes = 16;
  options.restarts = 2;
  for (options.seed = 1; options.seed <= 8; ++options.seed) {
    EXPECT_TRUE(Simulated(options).committed) << options.seed;
  }
}

TEST(SimReduce, WithoutItsCoordinatorNothingIsLeft) {
  Options options = Of(6, 16_MiB);
  options.reduce->everyone_gets = true;
  options.kill_at = {{0, milliseconds(5)}};
  const Report report = Simulated(options);
  EXPECT_FALSE(report.committed);
  EXPECT_EQ(report.completed, 0U);
}

TEST(SimReduce, BadOptionsAreNamed) {
  const auto message = [](auto change) {
    Options options = Of(4, 1_MiB);
    change(options);
    const Result<Report> report = RunReduce(options);
    return report ? std::string() : report.error().message;
  };
  EXPECT_NE(message([](Options& o) { o.size_bytes = 7; }).find("multiple of 4"), std::string::npos);
  EXPECT_NE(message([](Options& o) { o.reduce->num_objects = 5; }).find("num-objects"),
            std::string::npos);
  EXPECT_NE(message([](Options& o) {
              o.reduce->fixed_order = true;
              o.reduce->degree = 2;
            }).find("line"),
            std::string::npos);
  EXPECT_NE(message([](Options& o) { o.deletes = 1; }).find("broadcasts"), std::string::npos);
}

// --- planted faults

std::string Caught(Options options, PlantedFault fault) {
  options.fault = fault;
  const Result<Report> report = RunReduce(options);
  EXPECT_TRUE(report);
  return report ? report->violation : "";
}

TEST(SimReduce, ASourceThatIsFoldedTwiceIsCaught) {
  Options options = Of(4, 1_MiB);
  options.reduce->staggered = true;  // each is told twice: as it is put, and whole
  options.spread = milliseconds(20);
  EXPECT_EQ(Simulated(options).violation, "");
  EXPECT_TRUE(Caught(options, PlantedFault::kFoldsTwice).starts_with("P6"))
      << Caught(options, PlantedFault::kFoldsTwice);
}

TEST(SimReduce, BytesOfAnOldAttemptAreCaught) {
  Options options = Of(7, 16_MiB);
  options.reduce->degree = 2;
  options.reduce->num_objects = 6;
  options.kill_at = {{1, milliseconds(8)}};
  EXPECT_EQ(Simulated(options).violation, "");
  EXPECT_TRUE(Caught(options, PlantedFault::kKeepsBytesOfOldSlots).starts_with("P3"))
      << Caught(options, PlantedFault::kKeepsBytesOfOldSlots);
}

TEST(SimReduce, SiblingsThatStartAgainAreCaught) {
  Options options = Of(7, 16_MiB);
  options.reduce->degree = 2;
  options.reduce->num_objects = 6;
  options.kill_at = {{1, milliseconds(8)}};
  EXPECT_TRUE(Caught(options, PlantedFault::kResetsSiblings).starts_with("P7"))
      << Caught(options, PlantedFault::kResetsSiblings);
}

}  // namespace
}  // namespace hoplite::sim
