// Whether a move by what was measured was right (R102).
#include "planner/trials.h"

#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

constexpr NodeId kReceiver{1};
constexpr NodeId kFormer{2};
constexpr GrantId kGrant{{1, 1}};
constexpr Time kNow = Time{} + std::chrono::seconds(100);

class TrialsTest : public ::testing::Test {
 protected:
  TrialsTest() { trials_.Begin(kReceiver, kGrant, kFormer, 100); }
  Trials trials_;
};

TEST_F(TrialsTest, WhoGetsMuchMoreKeepsItsSource) {
  EXPECT_TRUE(trials_.IsTried(kReceiver, kGrant));
  EXPECT_EQ(trials_.End(kReceiver, 120, kNow), kNoNode);
  EXPECT_FALSE(trials_.IsTried(kReceiver, kGrant));
  EXPECT_TRUE(trials_.Keeps(kReceiver, kNow + Trials::kLong - Duration{1}));
  EXPECT_FALSE(trials_.Keeps(kReceiver, kNow + Trials::kLong));
}

TEST_F(TrialsTest, WhoGetsHardlyMoreGoesBack) {
  EXPECT_EQ(trials_.End(kReceiver, 119, kNow), kFormer);
  EXPECT_FALSE(trials_.IsTried(kReceiver, kGrant));
  EXPECT_FALSE(trials_.Keeps(kReceiver, kNow));
}

TEST_F(TrialsTest, AnotherGrantIsNoTrial) {
  EXPECT_FALSE(trials_.IsTried(kReceiver, GrantId{{1, 2}}));
}

TEST_F(TrialsTest, AShortStayDoesNotEndALongOne) {
  trials_.Stay(kReceiver, kNow + Trials::kLong);
  trials_.Stay(kReceiver, kNow + Trials::kShort);
  EXPECT_TRUE(trials_.Stays(kReceiver, kNow + Trials::kShort));
  EXPECT_FALSE(trials_.Stays(kReceiver, kNow + Trials::kLong));
}

}  // namespace
}  // namespace hoplite::planner
