// The cost model that chooses between a line and trees.
#include <gtest/gtest.h>

#include "base/time.h"
#include "planner/copies/broadcast_cost.h"

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

// Of 12 receivers in 2 groups 6 are inner in each: one below the source, two below that one, three
// below those, and the others are leaves.
TEST(BroadcastCost, DepthsOfForests) {
  EXPECT_EQ(ForestDepth(2, 12), 4U);
  EXPECT_EQ(ForestDepth(2, 14), 4U);
  EXPECT_EQ(ForestDepth(2, 16), 5U);
  EXPECT_EQ(ForestDepth(4, 10'000), 8U);
}

TEST(BroadcastCost, AForestCostsItsDepthAndTheObjectOnce) {
  const Layout layout = Layout::For(16 << 20, 64);
  const double hop = HopSeconds(4, layout, kLink);
  EXPECT_NEAR(hop, 100e-6 + 4 * 16384 / 1.25e9, 1e-12);
  EXPECT_NEAR(ForestSeconds(4, 10'000, layout, kLink), 8 * hop + ((16 << 20) - 4 * 16384) / 1.25e9,
              1e-9);
}

TEST(BroadcastCost, AForestForVeryManyReceivers) {
  EXPECT_EQ(BestForest(9'999, Layout::For(16 << 20, 64), kLink), 4U);
  EXPECT_EQ(BestForest(9'999, Layout::For(1 << 30, 64), kLink), 4U);
  EXPECT_EQ(BestForest(9'999, Layout::For(1 << 30, 2), kLink), 2U) << "no more than stripes";
  EXPECT_EQ(BestForest(9'999, Layout::For(1 << 30, 1), kLink), 1U);
  EXPECT_EQ(BestForest(9'999, Layout::For(1 << 16, 16), kLink), 1U) << "a tree of whole objects";
}

// What real clusters measured stays as it is: few hosts, or slow links.
TEST(BroadcastCost, NoForestForFew) {
  const LinkModel slow{std::chrono::microseconds(200), Duration{0}, 6.25e6};
  EXPECT_EQ(BestForest(7, Layout::For(8 << 20, 64), slow), 1U);
  EXPECT_EQ(BestForest(15, Layout::For(8 << 20, 64), slow), 1U);
  EXPECT_EQ(BestForest(63, Layout::For(std::uint64_t{1} << 30, 64), kLink), 1U);
  EXPECT_EQ(BestForest(15, Layout::For(1 << 20, 16), slow), 1U);
  EXPECT_EQ(BestForest(3, Layout::For(1 << 20, 16), kLink), 1U);
}

TEST(BroadcastCost, AStarForTheTiniest) {
  const LinkModel slow{std::chrono::milliseconds(10), Duration{0}, 1.25e9};
  EXPECT_EQ(BestDegree(50, Layout::For(100), slow), 50U);
}

}  // namespace
}  // namespace hoplite::planner
