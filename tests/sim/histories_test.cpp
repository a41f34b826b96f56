// Random histories with deaths, lost sessions, restarts, other bytes and deletes: no property may
// break. A failure prints the command that runs its history again.
#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/broadcast.h"
#include "sim/random.h"

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
  return options;
}

class HistoriesTest : public testing::TestWithParam<int> {};

TEST_P(HistoriesTest, KeepEveryProperty) {
  constexpr int kSeedsOfACase = 100;
  std::uint64_t completed = 0;
  for (int i = 0; i < kSeedsOfACase; ++i) {
    const Options options = Draw(static_cast<std::uint64_t>(GetParam() * kSeedsOfACase + i + 1));
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_EQ(report->violation, "") << report->replay;
    completed += report->completed;
  }
  EXPECT_GT(completed, 5u * kSeedsOfACase);  // most receivers got something
}

INSTANTIATE_TEST_SUITE_P(Seeds, HistoriesTest, testing::Range(0, 8));

// A planted fault must be found by random histories, too, and the message must replay it.
TEST(Histories, FindAPlantedFaultAndSayHowToReplayIt) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Options options = Draw(seed);
    options.twin = planner::Twin::kHandsOutDeadNodes;
    const Result<Report> report = RunBroadcast(options);
    ASSERT_TRUE(report);
    if (report->violation.empty()) continue;
    EXPECT_TRUE(report->violation.starts_with("P4")) << report->violation;
    EXPECT_TRUE(report->replay.starts_with("hoplite sim broadcast --nodes")) << report->replay;
    return;
  }
  FAIL() << "200 histories did not find a dead node that is handed out";
}

}  // namespace
}  // namespace hoplite::sim
