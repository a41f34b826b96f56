// Whether a move by what was measured was right.
#include "planner/copies/trials.h"

#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

constexpr NodeId kMoved{1};
constexpr NodeId kFormer{2};
constexpr GrantId kGrant{{1, 1}};
constexpr Time kNow = Time{} + std::chrono::seconds(100);

class TrialsTest : public ::testing::Test {
 protected:
  TrialsTest() { trials_.Begin(kMoved, kGrant, kFormer, 100); }
  Trials trials_;
};

TEST_F(TrialsTest, WhoGetsMuchMoreKeepsItsSource) {
  EXPECT_TRUE(trials_.IsTried(kMoved, kGrant));
  EXPECT_EQ(trials_.End(kMoved, 120, kNow), kNoNode);
  EXPECT_FALSE(trials_.IsTried(kMoved, kGrant));
  EXPECT_TRUE(trials_.Keeps(kMoved, kNow + Trials::kLong - Duration{1}));
  EXPECT_FALSE(trials_.Keeps(kMoved, kNow + Trials::kLong));
}

TEST_F(TrialsTest, WhoGetsHardlyMoreGoesBack) {
  EXPECT_EQ(trials_.End(kMoved, 119, kNow), kFormer);
  EXPECT_FALSE(trials_.IsTried(kMoved, kGrant));
  EXPECT_FALSE(trials_.Keeps(kMoved, kNow));
}

TEST_F(TrialsTest, AnotherGrantIsNoTrial) {
  EXPECT_FALSE(trials_.IsTried(kMoved, GrantId{{1, 2}}));
}

TEST_F(TrialsTest, AShortStayDoesNotEndALongOne) {
  trials_.Stay(kMoved, kNow + Trials::kLong);
  trials_.Stay(kMoved, kNow + Trials::kShort);
  EXPECT_TRUE(trials_.Stays(kMoved, kNow + Trials::kShort));
  EXPECT_FALSE(trials_.Stays(kMoved, kNow + Trials::kLong));
}

}  // namespace
}  // namespace hoplite::planner
