// The shape of reduce trees, and the degree that the cost model chooses.
#include "planner/reduce/reduce_tree.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "planner/reduce/reduce_cost.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::vector<std::uint32_t> ParentsOf(std::uint32_t count, std::uint32_t degree) {
  std::vector<std::uint32_t> parents;
  for (const TreeSlot& slot : ReduceTree(count, degree)) parents.push_back(slot.parent);
  return parents;
}

using Parents = std::vector<std::uint32_t>;

TEST(ReduceTree, Figure5a) { EXPECT_EQ(ParentsOf(6, 2), (Parents{2, 4, 2, 0, 6, 4})); }

TEST(ReduceTree, ALineAndAStarAreInstances) {
  EXPECT_EQ(ParentsOf(4, 1), (Parents{2, 3, 4, 0}));
  EXPECT_EQ(ParentsOf(5, 4), (Parents{2, 0, 2, 2, 2}));
  EXPECT_EQ(ParentsOf(5, 100), (Parents{2, 0, 2, 2, 2}));
  EXPECT_EQ(ParentsOf(1, 3), (Parents{0}));
  EXPECT_EQ(ParentsOf(0, 3), (Parents{}));
}

TEST(ReduceTree, AFullTreeOfDegreeThree) {
  EXPECT_EQ(ParentsOf(13, 3), (Parents{2, 5, 2, 2, 0, 7, 5, 7, 7, 11, 5, 11, 11}));
}

// Every slot but the root has one parent that counts it; the subtrees are in order: one child's
// subtree before the slot, the others after it; no level is begun before the last is full.
TEST(ReduceTree, AnyCountAndDegreeGivesACompleteTreeInOrder) {
  for (std::uint32_t degree = 1; degree <= 17; ++degree) {
    for (std::uint32_t count = 1; count <= 100; ++count) {
      const std::vector<TreeSlot> tree = ReduceTree(count, degree);
      ASSERT_EQ(tree.size(), count);
      std::vector<std::uint32_t> children(count + 1);
      std::vector<std::uint32_t> before(count + 1);
      for (std::uint32_t slot = 1; slot <= count; ++slot) {
        const std::uint32_t parent = tree[slot - 1].parent;
        ASSERT_LE(parent, count);
        ASSERT_NE(parent, slot);
        ++children[parent];
        if (slot < parent) ++before[parent];
      }
      ASSERT_EQ(children[0], 1U);
      std::vector<std::uint32_t> width;
      for (std::uint32_t slot = 1; slot <= count; ++slot) {
        ASSERT_EQ(tree[slot - 1].children, children[slot]);
        ASSERT_LE(children[slot], degree);
        ASSERT_EQ(before[slot], children[slot] > 0 ? 1U : 0U) << count << " of " << degree;
        std::size_t level = 0;
        for (std::uint32_t at = slot; tree[at - 1].parent != 0; at = tree[at - 1].parent) ++level;
        if (width.size() <= level) width.resize(level + 1);
        ++width[level];
      }
      for (std::size_t level = 0; level + 1 < width.size(); ++level) {
        ASSERT_EQ(width[level], level == 0 ? 1 : width[level - 1] * degree);
      }
    }
  }
}

TEST(ReduceTree, TensOfThousandsOfSlotsInALine) {
  const std::vector<TreeSlot> tree = ReduceTree(65000, 1);
  EXPECT_EQ(tree.back().parent, 0U);
  EXPECT_EQ(tree.front().parent, 2U);
}

TEST(ReduceCost, IsThatOfTheHeightAndOfWhatEachSlotReceives) {
  const LinkModel link{microseconds(100), microseconds(20), 1.25e9};
  const Layout layout = Layout::For(1 << 20);
  const double rest = ((1 << 20) - 16384) / 1.25e9;
  const auto hop = [](double degree) { return 120e-6 + degree * 16384 / 1.25e9; };
  EXPECT_NEAR(ReduceSeconds(1, 10, layout, link), 9 * hop(1) + rest, 1e-9);
  EXPECT_NEAR(ReduceSeconds(2, 7, layout, link), 2 * hop(2) + 2 * rest, 1e-9);
  EXPECT_NEAR(ReduceSeconds(9, 10, layout, link), hop(9) + 9 * rest, 1e-9);
  EXPECT_NEAR(ReduceSeconds(100, 10, layout, link), hop(9) + 9 * rest, 1e-9);
  EXPECT_EQ(ReduceSeconds(1, 1, layout, link), 0);
  EXPECT_EQ(ReduceSeconds(1, 0, layout, link), 0);
  EXPECT_EQ(BestReduceDegree(1, layout, link), 1U);
}

TEST(ReduceCost, ALineForLargeOnesAStarForTheTiniestATreeForVeryMany) {
  const LinkModel link{microseconds(100), Duration{0}, 1.25e9};
  EXPECT_EQ(BestReduceDegree(16, Layout::For(1 << 30), link), 1U);
  EXPECT_EQ(BestReduceDegree(10000, Layout::For(1 << 30), link), 2U);
  EXPECT_EQ(BestReduceDegree(50, Layout::For(100), {milliseconds(10), Duration{0}, 1.25e9}), 49U);
}

// The degrees that a caller may force, over sizes, counts, latencies and rates.
TEST(ReduceCost, TheChosenDegreeIsNeverWorseThanAForcedOne) {
  for (std::uint32_t count = 2; count <= 4096; count *= 2) {
    for (std::uint64_t size = 1 << 10; size <= 1ULL << 30; size *= 4) {
      for (const auto latency : {microseconds(20), microseconds(200), microseconds(20000)}) {
        for (const double rate : {1.25e6, 1.25e8, 1.25e10}) {
          const LinkModel link{latency, microseconds(50), rate};
          const Layout layout = Layout::For(size);
          const double chosen =
              ReduceSeconds(BestReduceDegree(count, layout, link), count, layout, link);
          for (const std::uint32_t forced : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U, count}) {
            EXPECT_LE(chosen, ReduceSeconds(forced, count, layout, link))
                << forced << " of " << count << ", " << size << " bytes, " << latency << ", "
                << rate;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hoplite::planner
