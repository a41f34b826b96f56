// The tree of slots alone: which orders fit into it, and what a slot is a part of.
#include "planner/reduce/slot_tree.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/planner/ring_orders.h"

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId kA{1};
constexpr NodeId kB{2};
constexpr Version kTarget{{1, 7}};

SlotInput Source(const std::string& name) { return {ObjectId::FromName(name), {{1, 1}}}; }

SlotOrder Order(std::uint32_t slot, std::uint32_t parent, NodeId node = kA,
                std::vector<SlotInput> inputs = {}) {
  SlotOrder order{
      .slot = slot, .parents = {}, .stripes = 1, .node = node, .inputs = std::move(inputs)};
  if (parent != 0) order.parents = {parent};
  order.children = 2;  // at most: not all are there
  return order;
}

// 4 is fed by 2, which 1 and 3 feed.
SlotTree Line() {
  SlotTree tree;
  for (const auto& order : {Order(1, 2), Order(2, 4), Order(3, 2), Order(4, 0)}) {
    EXPECT_EQ(tree.WrongWith(order), "");
    tree.Place(order, 1);
  }
  return tree;
}

TEST(SlotTree, KnowsParentsAndChildren) {
  const SlotTree tree = Line();
  EXPECT_THAT(tree.Ancestors(1), ElementsAre(2, 4));
  EXPECT_THAT(tree.Ancestors(4), IsEmpty());
  EXPECT_THAT(tree.ChildrenOf(2), ElementsAre(1, 3));
  EXPECT_THAT(tree.ChildrenOf(3), IsEmpty());
  EXPECT_THAT(tree.roots(), ElementsAre(4));
}

TEST(SlotTree, TakesChildrenBeforeTheirParent) {
  SlotTree tree;
  tree.Place(Order(1, 2), 1);
  tree.Place(Order(3, 2), 2);
  EXPECT_THAT(tree.Ancestors(1), IsEmpty());
  EXPECT_THAT(tree.ChildrenOf(2), ElementsAre(1, 3));
  EXPECT_THAT(tree.roots(), IsEmpty());
}

TEST(SlotTree, RefusesWhatIsNoTree) {
  SlotTree tree = Line();
  EXPECT_THAT(tree.WrongWith(Order(5, 0)), HasSubstr("is a second root"));
  EXPECT_THAT(tree.WrongWith(Order(1, 3)), HasSubstr("had another parent before"));
  EXPECT_THAT(tree.WrongWith(Order(6, 6)), HasSubstr("would be fed by itself"));
  EXPECT_THAT(tree.WrongWith(Order(0, 0)), HasSubstr("out of range"));
  EXPECT_THAT(tree.WrongWith(Order(kMaxSlots + 1, 1)), HasSubstr("out of range"));
  EXPECT_EQ(tree.WrongWith(Order(4, 0, kB)), "");  // the same place, executed by another

  SlotTree circle;
  circle.Place(Order(1, 2), 1);
  circle.Place(Order(2, 3), 1);
  EXPECT_THAT(circle.WrongWith(Order(3, 1)), HasSubstr("would be fed by itself"));
}

// Whoever executes a slot folds so many: one beyond would be left out of the sum.
TEST(SlotTree, TakesNoMoreChildrenThanASlotCounts) {
  SlotTree tree = Line();
  EXPECT_EQ(tree.WrongWith(Order(5, 2)), "slot 2, fed to 4, has 3 children, its order counts 2");
  EXPECT_EQ(tree.WrongWith(Order(3, 2, kB)), "");  // one of them, executed by another
  SlotOrder fewer = Order(2, 4);
  fewer.children = 1;
  EXPECT_EQ(tree.WrongWith(fewer), "slot 2, fed to 4, has 2 children, its order counts 1");
  tree.Place(Order(7, 6), 1);
  EXPECT_EQ(tree.WrongWith({6, {4}, 1, 0, kA, {}}),
            "slot 6, fed to 4, has 1 children, its order counts 0");
}

TEST(SlotTree, CountsEachSourceOnce) {
  SlotTree tree;
  tree.Place(Order(1, 2, kA, {Source("x")}), 1);
  EXPECT_THAT(tree.TwiceIn(Order(2, 0, kB, {Source("x")})), HasSubstr("has a slot already"));
  EXPECT_THAT(tree.TwiceIn(Order(2, 0, kB, {Source("y"), Source("y")})),
              HasSubstr("has a slot already"));
  EXPECT_EQ(tree.TwiceIn(Order(1, 2, kB, {Source("x")})), "");  // the slot itself, once more
}

TEST(SlotTree, ALostOrVacantSlotGivesItsSourcesBack) {
  SlotTree lost;
  lost.Place(Order(1, 2, kA, {Source("x")}), 1);
  lost.Find(1)->lost = SlotFault{};
  EXPECT_EQ(lost.TwiceIn(Order(3, 2, kB, {Source("x")})), "");

  SlotTree vacant;
  vacant.Place(Order(1, 2, kA, {Source("x")}), 1);
  vacant.Place(Order(1, 2, kNoNode), 2);
  EXPECT_EQ(vacant.TwiceIn(Order(3, 2, kB, {Source("x")})), "");
}

TEST(SlotTree, PlacingASlotAgainForgetsWhatWasMadeOfIt) {
  SlotTree tree;
  tree.Place(Order(1, 0, kA, {Source("x")}), 1);
  tree.Find(1)->version = kTarget;
  tree.Find(1)->drained = true;
  EXPECT_TRUE(tree.HasRootVersion());
  EXPECT_EQ(tree.BrokenInvariant(kTarget), "");

  tree.Place(Order(1, 0, kB, {Source("y")}), 2);
  EXPECT_FALSE(tree.HasRootVersion());
  EXPECT_FALSE(tree.Find(1)->drained);
  EXPECT_EQ(tree.Find(1)->attempt, 2);
  EXPECT_THAT(tree.Inputs(), ElementsAre(ObjectId::FromName("y")));
}

TEST(SlotTree, RemembersWhoExecutedASlotAfterTheEnd) {
  SlotTree tree = Line();
  tree.Place(Order(3, 2, kB), 2);
  tree.Clear();
  EXPECT_THAT(tree.slots(), IsEmpty());
  EXPECT_THAT(tree.ChildrenOf(2), IsEmpty());
  EXPECT_EQ(tree.SlotOf(kB), 3);
  EXPECT_EQ(tree.SlotOf(NodeId{9}), 0);
}

TEST(SlotTree, NamesWhatDoesNotHold) {
  SlotTree tree;
  tree.Place(Order(1, 0), 1);
  EXPECT_THAT(tree.BrokenInvariant(kTarget), HasSubstr("S7"));  // a node, and no version
  tree.Find(1)->version = Version{{1, 3}};
  EXPECT_THAT(tree.BrokenInvariant(kTarget), HasSubstr("S7"));  // another one than the target's
  tree.Find(1)->version = kTarget;
  EXPECT_EQ(tree.BrokenInvariant(kTarget), "");
}

// --- several roots: those of three members, over three stripes (R64)

constexpr StripeMask kAll = 7;

RingOrders Ring() { return {Layout::For(1 << 20, 3), {kA, kB, NodeId{3}}}; }

Result<SlotTree> Planned(const std::vector<SlotOrder>& orders) {
  std::vector<PlannedOrder> plan;
  for (const SlotOrder& order : orders) plan.push_back({1, order});
  return SlotTree::Of(kAll, plan);
}

TEST(StripedSlots, EachStripeHasARootOfItsOwn) {
  const SlotTree tree = Planned(Ring().All()).value();
  EXPECT_THAT(tree.roots(), ElementsAre(4, 5, 6));
  EXPECT_THAT(tree.ChildrenOf(4), ElementsAre(3));
  EXPECT_TRUE(tree.striped());
  EXPECT_FALSE(Line().striped());
}

// In the order of the steps that lead there; no slot twice, though the slots form a circle.
TEST(StripedSlots, AllIsAboveARingSlotAndNothingAboveARoot) {
  const SlotTree tree = Planned(Ring().All()).value();
  EXPECT_THAT(tree.Ancestors(1), ElementsAre(2, 5, 3, 6, 4));
  EXPECT_THAT(tree.Ancestors(4), IsEmpty());
}

TEST(StripedSlots, ASourceOfTwoSlotsOfOneNodeCountsOnce) {
  SlotTree tree = Planned(Ring().All()).value();
  EXPECT_EQ(tree.Inputs().size(), 3U);
  EXPECT_EQ(tree.RootAt(kB), tree.Find(5));
  EXPECT_EQ(tree.RootAt(NodeId{4}), nullptr);
}

TEST(StripedSlots, AllWhoExecuteOneStandEqualAmongReaders) {
  SlotTree tree = Planned(Ring().All()).value();
  tree.Clear();
  for (const std::uint64_t node : {1, 2, 3}) EXPECT_EQ(tree.SlotOf(NodeId{node}), 1);
  EXPECT_EQ(tree.SlotOf(NodeId{9}), 0);
}

TEST(StripedSlots, APartMayNotBeOrderedAlone) {
  const char* alone = "is a part of a plan and is ordered alone";
  const SlotTree tree = Planned(Ring().All()).value();
  EXPECT_THAT(tree.WrongWith(Ring().All()[0]), HasSubstr(alone));
  EXPECT_THAT(tree.WrongWith({7, {4}, kAll, 0, kA, {}}), HasSubstr(alone));
  EXPECT_THAT(SlotTree(kAll).WrongWith(Ring().All()[0]), HasSubstr(alone));
  EXPECT_THAT(SlotTree(kAll).WrongWith({1, {2, 3}, kAll, 0, kA, {}}), HasSubstr(alone));
}

TEST(StripedSlots, PartsMayBePlannedForATreeThatIsNotAllThere) {
  const Result<SlotTree> tree = Planned({{1, {2}, kAll, 0, kA, {}}, {4, {3}, kAll, 1, kB, {}}});
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->WrongWith({3, {}, kAll, 1, kB, {}}), "");
}

TEST(StripedSlots, NamesWhatDoesNotHold) {
  SlotTree circle(kAll);
  circle.Place({1, {2}, 1, 1, kNoNode, {}}, 1);
  circle.Place({2, {1}, 1, 1, kNoNode, {}}, 1);
  circle.Place({3, {}, 1, 0, kNoNode, {}}, 1);
  circle.Place({4, {}, 6, 0, kNoNode, {}}, 1);
  EXPECT_EQ(circle.BrokenInvariant(kTarget),
            "S9: slot 1, fed to 2, would be fed by itself in stripe 0");

  SlotTree unmade(kAll);
  unmade.Place({1, {}, 3, 0, kNoNode, {}}, 1);
  EXPECT_EQ(unmade.BrokenInvariant(kTarget), "S9: no root makes stripe 2");

  SlotTree part(kAll);
  part.Place({1, {2}, 3, 0, kA, {Source("x")}}, 1);
  part.Find(1)->version = Version{{1, 3}};
  EXPECT_THAT(part.BrokenInvariant(kTarget), HasSubstr("is missing in stripe 2"));
  part.Place({3, {4}, 6, 0, kA, {Source("x")}}, 1);
  part.Find(3)->version = Version{{1, 4}};
  EXPECT_THAT(part.BrokenInvariant(kTarget), HasSubstr("has two slots"));
  part.Find(3)->version = part.Find(1)->version;
  EXPECT_THAT(part.BrokenInvariant(kTarget), HasSubstr("S7: two slots have version"));
}

}  // namespace
}  // namespace hoplite::planner
