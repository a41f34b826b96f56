#include "directory/lease_monitor.h"

#include <chrono>

#include <gtest/gtest.h>

namespace hoplite::directory {
namespace {

using std::chrono::milliseconds;
using Standing = LeaseMonitor::Standing;
using Verdicts = std::vector<LeaseMonitor::Verdict>;

constexpr NodeId kA{1};
constexpr NodeId kB{2};

Time At(int ms) { return Time(milliseconds(ms)); }

class LeaseMonitorTest : public testing::Test {
 protected:
  LeaseMonitor leases_{milliseconds(90), milliseconds(100), milliseconds(50)};
};

TEST_F(LeaseMonitorTest, WithoutNodesNothingIsEverDue) {
  EXPECT_EQ(leases_.next(), kNever);
  EXPECT_TRUE(leases_.Due(At(1'000'000)).empty());
}

TEST_F(LeaseMonitorTest, ASilentNodeIsSuspendedThenLostOnce) {
  leases_.Opened(kA, At(0));
  EXPECT_EQ(leases_.next(), At(100));
  EXPECT_TRUE(leases_.Due(At(99)).empty());
  EXPECT_EQ(leases_.Due(At(100)), (Verdicts{{kA, Standing::kSuspended}}));
  EXPECT_EQ(leases_.next(), At(150));
  EXPECT_EQ(leases_.Due(At(150)), (Verdicts{{kA, Standing::kLost}}));
  EXPECT_TRUE(leases_.Due(At(1000)).empty());
  EXPECT_EQ(leases_.next(), kNever);
}

TEST_F(LeaseMonitorTest, EverySignOfLifeRenewsTheLease) {
  leases_.Opened(kA, At(0));
  leases_.Heard(kA, At(90));
  EXPECT_TRUE(leases_.Due(At(189)).empty());
  EXPECT_EQ(leases_.Due(At(190)), (Verdicts{{kA, Standing::kSuspended}}));
}

// Its machine has more to do than processors: its next word may come late, too.
TEST_F(LeaseMonitorTest, WhoWasHeardLateIsWaitedForLongerForAWhile) {
  leases_.Opened(kA, At(0));
  leases_.Heard(kA, At(99));
  EXPECT_EQ(leases_.next(), At(199));  // 9 ms late: no matter
  leases_.Heard(kA, At(198));
  leases_.Heard(kA, At(198 + 90 + 60));
  EXPECT_EQ(leases_.next(), At(348 + 4 * 60));
  leases_.Heard(kA, At(349));
  EXPECT_EQ(leases_.next(), At(349 + 4 * 60));
  leases_.Heard(kA, At(349 + 235));
  EXPECT_EQ(leases_.next(), At(584 + 500));  // five leases at most
  for (int ms = 584; ms <= 6000; ms += 90) leases_.Heard(kA, At(ms));
  EXPECT_EQ(leases_.next(), At(584 + 60 * 90 + 100));
}

TEST_F(LeaseMonitorTest, AnEndedSessionLeavesTheGraceToComeBack) {
  leases_.Opened(kA, At(0));
  leases_.Ended(kA, At(10));
  EXPECT_EQ(leases_.next(), At(60));
  leases_.Opened(kA, At(40));
  EXPECT_TRUE(leases_.Due(At(139)).empty());
}

// A message that was under way when the session ended must not keep the node alive.
TEST_F(LeaseMonitorTest, WithoutASessionNothingRenewsTheGrace) {
  leases_.Opened(kA, At(0));
  leases_.Ended(kA, At(10));
  leases_.Heard(kA, At(50));
  leases_.Ended(kA, At(55));
  EXPECT_EQ(leases_.Due(At(60)), (Verdicts{{kA, Standing::kLost}}));
}

TEST_F(LeaseMonitorTest, UnknownAndForgottenNodesAreNobodys) {
  leases_.Heard(kA, At(0));
  leases_.Ended(kA, At(0));
  leases_.Opened(kB, At(0));
  leases_.Forget(kB);
  EXPECT_EQ(leases_.next(), kNever);
}

TEST_F(LeaseMonitorTest, VerdictsComeInTheOrderOfTheirTimes) {
  leases_.Opened(kB, At(0));
  leases_.Opened(kA, At(20));
  EXPECT_EQ(leases_.Due(At(125)),
            (Verdicts{{kB, Standing::kSuspended}, {kA, Standing::kSuspended}}));
}

TEST(LeaseMonitor, AnEndlessLeaseNeverRunsOut) {
  LeaseMonitor leases(milliseconds(90), Duration::max(), Duration::max());
  leases.Opened(kA, At(5));
  EXPECT_TRUE(leases.Due(At(1'000'000'000)).empty());
}

}  // namespace
}  // namespace hoplite::directory
