#include "sim/planner_world/report.h"

#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/bounds.h"
#include "sim/planner_world/broadcast.h"
#include "sim/planner_world/options.h"

namespace hoplite::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Bounds, OneHopIsTheObjectAndOneLatency) {
  const Link link{.latency = milliseconds(1), .bytes_per_second = 1e6};
  EXPECT_DOUBLE_EQ(BoundSeconds(1'000'000, link), 1.001);
  EXPECT_NEAR(TreeSeconds(2, 1'000'000, link, 1), 1.001, 1e-9);
}

TEST(Bounds, ALinePaysPerNodeAndATreePaysPerLevel) {
  const Link link{.latency = microseconds(100), .bytes_per_second = 1.25e9};
  const double hop = 100e-6 + 16384 / 1.25e9;
  EXPECT_NEAR(TreeSeconds(10'000, 16_MiB, link, 1), 9999 * hop + (16_MiB - 16384) / 1.25e9, 1e-6);
  const Tree best = BestTree(10'000, 16_MiB, link);
  EXPECT_EQ(best.degree, 2u);
  EXPECT_LT(best.seconds, TreeSeconds(10'000, 16_MiB, link, 1));
}

TEST(Bounds, TheBestTreeOfTwoNodesIsOneEdge) {
  const Link link{.latency = microseconds(100), .bytes_per_second = 1.25e9};
  EXPECT_EQ(BestTree(2, 64_KiB, link).degree, 1u);
}

TEST(Report, JsonHasTheFixedKeysAndQuotesText) {
  Report report;
  report.seconds = 2;
  report.bound_seconds = 1;
  report.depth = 3;
  report.events = 4;
  report.violation = "P2: \"n1\"";
  const std::string json = ToJson(report);
  EXPECT_TRUE(json.starts_with(R"({"seconds":2,"bound_seconds":1,"ratio":2,"depth":3,"events":4,)"))
      << json;
  EXPECT_NE(json.find(R"("violation":"P2: \"n1\"")"), std::string::npos) << json;
}

TEST(Report, SeveralRoundsAreShownOneByOne) {
  const Round worst{
      .slowest_get_seconds = 2, .stretch = 1.5, .completed = 3, .moves = 7, .trials = 2};
  EXPECT_EQ(ToText({.rounds = {worst}}).find("round 1"), std::string::npos);
  const Report report{.rounds = {{}, worst}};
  EXPECT_NE(ToText(report).find("round 2             2.000000 s; 1.500 x what its own links allow; "
                                "3 served, 7 moves, 2 of trials\n"),
            std::string::npos)
      << ToText(report);
  EXPECT_NE(ToJson(report).find(
                R"({"slowest_get_seconds":2,"stretch":1.5,"completed":3,"moves":7,"trials":2}])"),
            std::string::npos)
      << ToJson(report);
}

TEST(Report, TextShowsAViolationAndItsReplayOnly) {
  Report report;
  report.replay = "hoplite sim broadcast --nodes 3";
  EXPECT_EQ(ToText(report).find("replay"), std::string::npos);
  report.violation = "P1: too many";
  EXPECT_NE(ToText(report).find("replay: hoplite sim broadcast --nodes 3"), std::string::npos);
}

// Every line of the legend begins with words of the report, or goes on from the line before.
void ExpectExplains(std::string_view legend, const std::string& report) {
  std::istringstream lines{std::string(legend)};
  for (std::string line; std::getline(lines, line);) {
    const std::string words = line.substr(0, line.find("  "));
    EXPECT_NE(report.find(words), std::string::npos) << line;
    EXPECT_LE(line.size(), 90U) << line;
  }
}

TEST(Report, LegendsExplainLinesThatAreThere) {
  ExpectExplains(Legend(), ToText({.rounds = {{.stretch = 1.1}, {.stretch = 1.2}}}));
  ExpectExplains(ReductionLegend(), ReductionToText(Report()));
}

TEST(Options, ReplayNamesEveryFieldThatIsNotAtItsDefault) {
  Options options;
  options.seed = 7;
  options.kills = 2;
  options.kill_at = {{.node = 3, .at = milliseconds(5)}};
  EXPECT_EQ(ReplayCommand(options),
            "hoplite sim broadcast --nodes 8 --size 16777216 --bandwidth 10000000000bit "
            "--latency 100000ns --seed 7 --kill 2 --kill-at 3@5000000ns");
}

TEST(Options, ReplayNamesWhatIsOff) {
  Options options;
  options.without.rates = true;
  EXPECT_TRUE(ReplayCommand(options).ends_with(" --seed 1 --without rates"));
  options.without.forest = true;
  EXPECT_TRUE(ReplayCommand(options).ends_with(" --without rates,forest"));
}

// Each part that is off costs time somewhere, so it is off.
TEST(Options, PartsThatAreOffAreMissed) {
  Options crowd{.nodes = 300};
  const double forest = RunBroadcast(crowd)->seconds;
  crowd.without.forest = true;
  EXPECT_GT(RunBroadcast(crowd)->seconds, 1.5 * forest);
}

TEST(Options, ReplayNamesNoise) {
  Options options;
  options.noise.late = milliseconds(20);
  EXPECT_TRUE(ReplayCommand(options).ends_with(" --seed 1 --late 20000000ns"));
  options.noise = {.stall_chance = 0.05,
                   .stall = milliseconds(50),
                   .burst_bytes = 128'000,
                   .unfair = 1.5,
                   .begins = milliseconds(30)};
  EXPECT_TRUE(ReplayCommand(options).ends_with(
      " --seed 1 --stalls 0.05,50000000ns --bursts 128000 --unfair 1.5 --begins 30000000ns"))
      << ReplayCommand(options);
}

TEST(Options, BadValuesAreRefusedByName) {
  Options options;
  options.nodes = 1;
  ASSERT_FALSE(options.Validate());
  EXPECT_NE(options.Validate().error().message.find("nodes"), std::string::npos);
  options = {};
  options.kill_at = {{.node = 8}};
  EXPECT_FALSE(options.Validate());
  options = {};
  options.noise.late = -milliseconds(1);
  ASSERT_FALSE(options.Validate());
  EXPECT_EQ(options.Validate().error().message, "simulation: a time of noise must not be negative");
  options.noise = {.stall_chance = 0.5, .stall = milliseconds(300)};
  EXPECT_FALSE(options.Validate());
  options.noise = {.burst_bytes = 100};
  EXPECT_FALSE(options.Validate());
  options = {.nodes = 1000, .noise = {.unfair = 2}};
  EXPECT_FALSE(options.Validate());
  options = {.noise = {.unfair = 0.5}};
  EXPECT_FALSE(options.Validate());
  EXPECT_TRUE(Options{}.Validate());
}

}  // namespace
}  // namespace hoplite::sim
