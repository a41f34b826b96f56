// The slots of a reduction in two trees, and when it is one.
#include "planner/reduce/two_trees.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/copies/broadcast_cost.h"
#include "planner/copies/stripe_groups.h"
#include "planner/reduce/reduce_cost.h"
#include "planner/reduce/slot_tree.h"
#include "reduce_planning.h"
#include "sound_plan.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Layout CutIn(std::uint32_t stripes) { return Layout::For(64 << 20, stripes); }

std::vector<NodeId> Members(std::size_t count) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 1; i <= count; ++i) nodes.push_back(NodeId(i));
  return nodes;
}

// Members on nodes 1, 2, …, each with a source of its own.
struct FilledTrees {
  FilledTrees(std::size_t members_in, std::uint32_t stripes)
      : members(members_in), layout(CutIn(stripes)) {
    for (SlotOrder& order : TwoTrees(Members(members), layout)) {
      order.inputs = {{ObjectId::FromName(std::to_string(Raw(order.node))), Version{{1, 1}}}};
      orders.push_back({order.slot, order});
      plan[order.slot] = order;
    }
  }
  std::size_t members;
  Layout layout;
  std::vector<PlannedOrder> orders;
  SlotPlan plan;
};

// Edges from the slot up to its root, in the stripes of that tree.
std::size_t Depth(const FilledTrees& trees, std::uint32_t slot, StripeMask tree) {
  std::size_t depth = 0;
  while (!trees.plan.at(slot).root()) {
    const std::vector<std::uint32_t>& parents = trees.plan.at(slot).parents;
    slot = *std::ranges::find_if(
        parents, [&](std::uint32_t parent) { return (trees.plan.at(parent).stripes & tree) != 0; });
    ++depth;
  }
  return depth;
}

// At home in one tree, where it folds two others; in the other one it only sends.
void ExpectOneHomeEach(const FilledTrees& trees) {
  std::map<NodeId, std::uint32_t> folds_at;
  for (const auto& [slot, order] : trees.plan) {
    if (order.children == 0) continue;
    EXPECT_LE(order.children, 2u) << slot;
    EXPECT_TRUE(folds_at.emplace(order.node, slot).second) << ToString(order.node);
  }
}

void ExpectFewAbove(const FilledTrees& trees) {
  const std::uint64_t most = ForestDepth(2, trees.members - 1) + 1;
  for (const auto& [slot, order] : trees.plan) {
    for (std::size_t g = 0; g < 2; ++g) {
      const StripeMask tree =
          StripeGroups::Forest(2, trees.layout, kNoNode).stripes(g, trees.layout);
      if ((order.stripes & tree) != 0) EXPECT_LE(Depth(trees, slot, tree), most) << slot;
    }
  }
}

TEST(TwoTrees, EveryStripeHasOneRootAndEachSourceOnceWhateverTheNumbers) {
  for (const std::uint32_t stripes : {2u, 3u, 16u, 64u}) {
    for (std::size_t members = 2; members <= 70; ++members) {
      SCOPED_TRACE(fmt::format("{} members, {} stripes", members, stripes));
      const FilledTrees trees(members, stripes);
      EXPECT_EQ(WrongWith(trees.plan, trees.layout), "");
      EXPECT_EQ(SourcesIn(trees.plan), members);
      const auto taken = SlotTree::Of(trees.layout.all_stripes(), trees.orders);
      EXPECT_TRUE(taken) << taken.error().message;
      ExpectOneHomeEach(trees);
      ExpectFewAbove(trees);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(TwoTrees, ThousandsAreFewHopsFromTheirRoots) {
  const FilledTrees trees(16'384, 64);
  const auto taken = SlotTree::Of(trees.layout.all_stripes(), trees.orders);
  EXPECT_TRUE(taken) << taken.error().message;
  ExpectOneHomeEach(trees);
  ExpectFewAbove(trees);
}

// The picture in two_trees.h.
TEST(TwoTrees, SixMembers) {
  EXPECT_THAT(InWords(TwoTrees(Members(6), CutIn(4))),
              ElementsAre("1: A 02 to , fed by 2",    //
                          "2: B 13 to , fed by 2",    //
                          "3: C 02 to 1, fed by 2",   //
                          "4: D 13 to 2, fed by 2",   //
                          "5: E 02 to 1, fed by 1",   //
                          "6: F 13 to 2, fed by 1",   //
                          "7: A 13 to 4, fed by 0",   //
                          "8: B 02 to 3, fed by 0",   //
                          "9: C 13 to 4, fed by 0",   //
                          "10: D 02 to 3, fed by 0",  //
                          "11: E 13 to 6, fed by 0",  //
                          "12: F 02 to 5, fed by 0"));
}

TEST(TwoTrees, TwoMembersOrMoreMakeThemOfTwoStripesOrMore) {
  const Layout layout = CutIn(16);
  EXPECT_FALSE(MakesTwoTrees(1, layout));
  EXPECT_TRUE(MakesTwoTrees(2, layout));
  EXPECT_TRUE(MakesTwoTrees(1000, layout));
  EXPECT_FALSE(MakesTwoTrees(1000, CutIn(1)));
}

// At 10 Gbit/s 1 GiB takes 0.86 s, a hop of a line 0.15 ms: a thousand of them are worth it.
TEST(TwoTreesCost, TheyPayWhereHopsOrCopiesCostMore) {
  const LinkModel link{microseconds(100), Duration{0}, 1.25e9};
  EXPECT_TRUE(TwoTreesPay(1000, Layout::For(1 << 30), link));
  EXPECT_TRUE(TwoTreesPay(300, Layout::For(1 << 30), link));
  EXPECT_TRUE(TwoTreesPay(1000, Layout::For(16 << 20), link));
  EXPECT_TRUE(TwoTreesPay(1000, Layout::For(1 << 20), link));
  EXPECT_FALSE(TwoTreesPay(3, Layout::For(1 << 30), link));
}

// --- the coordinator's plan

// 16 MiB take 13.4 ms, a hop 113 µs.
class PlanningTwoTrees : public ReducePlanning {
 protected:
  PlanningTwoTrees() {
    options_.everyone_reads = true;
    layout_ = Layout::For(16 << 20, 16);
  }
  void Everyone(int sources) {
    for (int i = 1; i <= sources; ++i) Arrive(i);
  }
  std::string Shape() const { return planner_->Describe(); }
  // Nothing is wrong with what was said, and so many sources count.
  void ExpectSound(std::size_t sources) const {
    EXPECT_EQ(WrongWith(orders_, layout_), "");
    EXPECT_EQ(SourcesIn(orders_), sources);
  }
  std::uint32_t SlotOn(std::uint64_t node) const {
    const auto at = std::ranges::find_if(
        orders_, [&](const auto& entry) { return entry.second.node == NodeId(node); });
    return at == orders_.end() ? 0 : at->first;
  }
};

TEST_F(PlanningTwoTrees, VeryManyMakeThemAndFewMakeARing) {
  Start(300);
  Everyone(300);
  EXPECT_THAT(Plan(), SizeIs(2 + 600));
  EXPECT_EQ(Shape(), "two trees, nodes: 300");
  ExpectSound(300);

  Forget();
  options_.everyone_reads = true;
  Start(12);
  Everyone(12);
  Plan();
  EXPECT_EQ(Shape(), "a ring, nodes: 12");
}

TEST_F(PlanningTwoTrees, OnlyWhereEverybodyReads) {
  options_.everyone_reads = false;
  Start(300);
  Everyone(300);
  Plan();
  EXPECT_EQ(Shape(), "a tree, slots: 300");
}

TEST_F(PlanningTwoTrees, WhileASourceIsLateItIsOneTree) {
  Start(300);
  Everyone(299);
  now_ += milliseconds(10);
  Plan();
  EXPECT_EQ(Shape(), "a tree, slots: 300");
}

TEST_F(PlanningTwoTrees, ALostMemberEndsThePlan) {
  Start(300);
  Everyone(300);
  Plan();
  Lose(SlotOn(77));
  EXPECT_THAT(Plan(), IsEmpty());  // it may come back
  EXPECT_EQ(Shape(), "no plan");
  now_ += microseconds(100);
  Tell(77, 1077);
  Plan();
  EXPECT_EQ(Shape(), "two trees, nodes: 300");
  ExpectSound(300);
}

TEST_F(PlanningTwoTrees, WhoHasNoMemoryMakesItOneTreeAndNeedsNone) {
  two_trees_ = true;
  Start(9);
  Everyone(9);
  Plan();
  Lose(SlotOn(4), ErrorCode::kResourceExhausted);
  Plan();
  EXPECT_EQ(Shape(), "a tree, slots: 9");
  EXPECT_EQ(orders_.at(SlotOn(4)).children, 0u);
  ExpectSound(9);
}

// --- the cut of the target

TEST(StripesMadeBySeveral, EverySecondStripeIsAForest) {
  const Layout layout = CutIn(4);
  const auto made = [&](std::vector<StripeGroup> makers) {
    return StripeGroups::MadeBy(std::move(makers), layout);
  };
  EXPECT_TRUE(made({{0b0101, NodeId(1)}, {0b1010, NodeId(2)}}).forest());
  EXPECT_FALSE(made({{0b0011, NodeId(1)}, {0b1100, NodeId(2)}}).forest());
  EXPECT_FALSE(made({{1, NodeId(1)}, {2, NodeId(2)}, {4, NodeId(3)}, {8, NodeId(4)}}).forest());
  EXPECT_FALSE(
      StripeGroups::MadeBy({{0b10101, NodeId(1)}, {0b01010, NodeId(2)}}, CutIn(5)).forest());
  EXPECT_EQ(made({{0b0101, NodeId(1)}, {0b1010, NodeId(2)}}).origin(1), NodeId(2));
  EXPECT_EQ(made({{0b0011, NodeId(1)}, {0b1100, NodeId(2)}}).stripes(1, layout), 0b1100u);
}

}  // namespace
}  // namespace hoplite::planner
