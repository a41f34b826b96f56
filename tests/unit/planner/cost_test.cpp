// The cost model that chooses between a line and trees.
#include <gtest/gtest.h>

#include "base/time.h"
#include "planner/broadcast_cost.h"

namespace hoplite::planner {
namespace {

const LinkModel kLink{std::chrono::microseconds(100), Duration{0}, 1.25e9};

TEST(BroadcastCost, ALineCostsOneHopPerReceiver) {
  const Layout layout = Layout::For(1 << 20);
  const double hop = HopSeconds(1, layout, kLink);
  EXPECT_NEAR(hop, 100e-6 + 16384 / 1.25e9, 1e-12);
  EXPECT_NEAR(TreeSeconds(1, 10, layout, kLink), 10 * hop + ((1 << 20) - 16384) / 1.25e9, 1e-9);
}

TEST(BroadcastCost, HeightsOfTrees) {
  const Layout one_block = Layout::For(4096);
  // 2 + 4 + 8 covers 14 receivers, the 15th needs a fourth level.
  EXPECT_NEAR(TreeSeconds(2, 14, one_block, kLink) / HopSeconds(2, one_block, kLink), 3, 1e-9);
  EXPECT_NEAR(TreeSeconds(2, 15, one_block, kLink) / HopSeconds(2, one_block, kLink), 4, 1e-9);
}

TEST(BroadcastCost, LargeObjectsGoDownALineSmallOnesDownATree) {
  EXPECT_EQ(BestDegree(15, Layout::For(1 << 30), kLink), 1U);
  EXPECT_GT(BestDegree(15, Layout::For(1 << 14), kLink), 1U);
  EXPECT_EQ(BestDegree(1, Layout::For(1 << 14), kLink), 1U);
  EXPECT_EQ(BestDegree(0, Layout::For(0), kLink), 1U);
}

TEST(BroadcastCost, ManyHopsOutweighAnySize) {
  EXPECT_EQ(BestDegree(10000, Layout::For(1 << 30), kLink), 2U);
  EXPECT_EQ(BestDegree(10000, Layout::For(16 << 20), kLink), 2U);
}

TEST(BroadcastCost, AStarForTheTiniest) {
  const LinkModel slow{std::chrono::milliseconds(10), Duration{0}, 1.25e9};
  EXPECT_EQ(BestDegree(50, Layout::For(100), slow), 50U);
}

}  // namespace
}  // namespace hoplite::planner
