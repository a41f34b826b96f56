// How the coordinator plans around nodes that can't reach each other (R68).
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reduce_ring_planning.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReduceBlocked : public ReduceRing {
 public:
  ReduceBlocked() {
    options_.everyone_reads = false;
    options_.degree = 1;
  }
  // A line of so many.
  void Line(int sources) {
    Start(sources);
    Everyone(sources);
    Plan();
  }
  // The receiver folds what the source makes.
  bool Adjacent(int receiver, int source) const {
    return std::ranges::any_of(orders_, [&](const auto& one) {
      return one.second.node == NodeId(source) &&
             std::ranges::any_of(one.second.parents, [&](std::uint32_t parent) {
               return orders_.at(parent).node == NodeId(receiver);
             });
    });
  }
};

TEST_F(ReduceBlocked, OneWayTheOtherDirectionServes) {
  Line(2);
  Block(1, 2);
  EXPECT_THAT(Plan(), ElementsAre("as one", "1^2+0 @2 s2", "2^0+1 @1 s1"));
}

TEST_F(ReduceBlocked, BothWaysTheCoordinatorStandsBetweenThem) {
  Line(2);
  Block(1, 2);
  Plan();
  Block(1, 1);
  EXPECT_THAT(Plan(), ElementsAre("as one", "1^3+0 @1 s1", "2^0+1 @2 s2", "3^2+1 @self"));
  Sound();
}

TEST_F(ReduceBlocked, OthersChangePlacesBeforeAnybodyIsPutBetween) {
  Line(3);
  Block(1, 2);
  Plan();
  EXPECT_FALSE(Adjacent(2, 1));
  Block(SlotOn(2), 1);  // if it was turned round
  Plan();
  EXPECT_FALSE(Adjacent(2, 1) || Adjacent(1, 2));
  EXPECT_EQ(orders_.size(), 3U);
  Sound();
}

TEST_F(ReduceBlocked, AThirdThatTheShardNamesStandsBetweenIfTheCoordinatorCannot) {
  Line(2);
  Block(1, 2, 50);
  Plan();
  Block(1, 1, 50);
  Plan();
  ASSERT_EQ(orders_.at(3).node, kSelf);
  Block(orders_.at(2).node == NodeId(1) ? 3 : 1, 1000, 60);
  Plan();
  for (const auto& [slot, order] : orders_) {
    if (order.node == kSelf) Block(3, static_cast<int>(Raw(orders_.at(2).node)), 60);
  }
  Plan();
  ASSERT_EQ(orders_.size(), 3U);
  Sound();
}

TEST_F(ReduceBlocked, WhenNothingIsLeftThePairIsTriedAgainAfterAPause) {
  Line(2);
  Block(1, 2);
  Plan();
  Block(1, 1);
  Plan();  // by the coordinator
  Block(orders_.at(1).parents.front() == 3 ? 1 : 3, 1000);
  Plan();
  Block(SlotOn(1), 2);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_GT(next_, now_);
  EXPECT_LE(next_, now_ + seconds(4));
  EXPECT_EQ(planner_->last_loss(), "it can't connect");
  now_ = next_;
  EXPECT_THAT(Plan(), ::testing::Contains("as one"));
}

TEST_F(ReduceBlocked, AThirdThatIsGoneIsReplaced) {
  Line(2);
  Block(1, 2, 50);
  Plan();
  Block(1, 1, 50);
  Plan();
  ASSERT_EQ(orders_.at(3).node, kSelf);
  Lose(3, ErrorCode::kResourceExhausted);
  EXPECT_THAT(planner_->last_loss(), HasSubstr("it can't connect; between the two, "));
  Plan();
  EXPECT_EQ(orders_.at(3).node, NodeId(50));
  Sound();
  Lose(3);
  EXPECT_THAT(Plan(), ::testing::Contains("as one"));
  EXPECT_EQ(orders_.size(), 2U);  // nobody is left
  Block(1, static_cast<int>(Raw(orders_.at(2).node)), 60);
  EXPECT_THAT(Plan(), IsEmpty());
  now_ = next_;
  Plan();
  EXPECT_EQ(orders_.size(), 2U);  // both pauses are over
}

TEST_F(ReduceBlocked, WhatIsLostMeanwhileDoesNotHideThePair) {
  Line(3);
  Block(SlotOn(1), 2);
  Plan();
  LoseMemory(3);
  EXPECT_EQ(planner_->last_loss(), "it can't connect; also, it was lost");
  now_ += seconds(5);
  Plan();
  LoseMemory(2);
  EXPECT_EQ(planner_->last_loss(), "it was lost");
}

TEST_F(ReduceBlocked, AFixedOrderIsKept) {
  options_.fixed_order = true;
  Line(3);
  Block(2, 3);
  EXPECT_THAT(Plan(),
              ElementsAre("as one", "1^2+0 @1 s1", "2^3+1 @2 s2", "3^0+2 @self", "4^3+0 @3 s3"));
}

TEST_F(ReduceBlocked, TheRootStaysWhereItIsAskedFor) {
  options_.root_here = true;
  Line(2);
  Block(1, 2);
  const auto plan = Plan();
  EXPECT_THAT(plan, ::testing::Contains(HasSubstr("^0+1 @self")));
  EXPECT_FALSE(Adjacent(2, 1));
  Sound();
}

TEST_F(ReduceBlocked, ARingGoesOnInAnotherOrder) {
  options_.everyone_reads = true;
  options_.degree = 0;
  Line(4);
  ASSERT_EQ(Shape(), "a ring, nodes: 4");
  Block(SlotOn(1), 2);
  Plan();
  EXPECT_EQ(Shape(), "a ring, nodes: 4");
  EXPECT_FALSE(Adjacent(2, 1));
  Block(SlotOn(2), 1);
  Plan();
  EXPECT_EQ(Shape(), "a ring, nodes: 4");
  EXPECT_FALSE(Adjacent(2, 1) || Adjacent(1, 2));
  Sound();
}

TEST_F(ReduceBlocked, ATreeForANodeWithoutMemoryGoesRoundThemToo) {
  options_.everyone_reads = true;
  options_.degree = 0;
  Line(5);
  ASSERT_EQ(Shape(), "a ring, nodes: 5");
  Block(SlotOn(4), 1);
  Plan();
  ASSERT_EQ(Shape(), "a ring, nodes: 5");
  LoseMemory(4);
  Plan();
  EXPECT_THAT(Shape(), HasSubstr("a tree"));
  EXPECT_FALSE(Adjacent(1, 4));
  Sound();
}

TEST_F(ReduceBlocked, ThreeOfWhichTwoCantReachEachOtherMakeATree) {
  options_.everyone_reads = true;
  options_.degree = 0;
  Line(3);
  ASSERT_EQ(Shape(), "a ring, nodes: 3");
  Block(SlotOn(1), 2);
  Plan();
  Block(SlotOn(2), 1);
  Plan();
  EXPECT_THAT(Shape(), HasSubstr("a tree"));
  EXPECT_FALSE(Adjacent(2, 1) || Adjacent(1, 2));
  Sound();
}

// --- what comes when others have their places

TEST_F(ReduceBlocked, ASourceThatDoesNotReachItsNeighboursIsFoldedByAnother) {
  Start(4, 3);
  Everyone(3);
  Plan();
  Block(SlotOn(1), 2);
  Plan();
  ASSERT_EQ(orders_.at(3).node, NodeId(3));
  ASSERT_EQ(orders_.at(2).node, NodeId(1));
  Tell(4, 2);
  Lose(3);
  EXPECT_THAT(Plan(), ElementsAre("3^0+2 @self", "4^3+0 @2 s4"));
  Sound();
}

TEST_F(ReduceBlocked, SoItIsInAFixedOrder) {
  options_.fixed_order = true;
  Line(3);
  Block(SlotOn(1), 5);
  Plan();
  Lose(SlotOn(2));
  Tell(2, 5);
  EXPECT_THAT(Plan(), ElementsAre("2^3+2 @self", "4^2+0 @5 s2"));
  Sound();
}

TEST_F(ReduceBlocked, WhereNobodyReachesItTheSourceStandsThere) {
  Start(4, 3);
  Everyone(3);
  Plan();
  for (const int receiver : {1, 2, 1000}) {
    Block(SlotOn(3), receiver);
    Plan();
  }
  const std::uint32_t leaf = 1;
  ASSERT_NE(orders_.at(leaf).node, NodeId(3));
  Tell(4, 3);
  Lose(leaf);
  Plan();
  EXPECT_EQ(orders_.at(leaf).node, NodeId(3));
  EXPECT_EQ(orders_.size(), 3U);
}

TEST_F(ReduceBlocked, WhoFoldsForANodeWithoutMemoryReachesItsNeighbours) {
  Line(3);
  Block(SlotOn(1), 1000);
  Plan();
  ASSERT_TRUE(Adjacent(2, 1));
  LoseMemory(2);
  Plan();
  EXPECT_FALSE(Adjacent(1000, 1));
  EXPECT_EQ(orders_.size(), 4U);
  Sound();
}

}  // namespace
}  // namespace hoplite::planner
