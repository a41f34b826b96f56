// What replaces a lost part of a ring, and when it becomes a tree.
#include <chrono>
#include <cstdint>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/reduce/reduce_cost.h"
#include "reduce_ring_planning.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- members that are lost

TEST_F(ReduceRing, ALostMemberIsReplacedByASpareInAPlanThatIsNew) {
  for (const std::uint32_t slot : {2U, 5U}) {  // its ring slot, its root
    Forget();
    options_.everyone_reads = true;
    Start(4, 3);
    Everyone(4);
    Plan();
    Lose(slot);
    EXPECT_THAT(Plan(), ElementsAre("as one", "1^2,5+1 @1 /2345 s1", "2^3,6+1 @3 /0145 s3",
                                    "3^1,4+1 @4 /0123 s4", "4^0+1 @1 /01 s1", "5^0+1 @3 /23 s3",
                                    "6^0+1 @4 /45 s4"));
    Sound();
  }
}

TEST_F(ReduceRing, WithoutASpareItIsATreeThatTheLostSourceJoins) {
  Start(4);
  Everyone(4);
  Plan();
  Lose(SlotOn(2));
  EXPECT_THAT(Plan(), IsEmpty());  // it may come back
  now_ = next_;
  EXPECT_THAT(Plan(),
              ElementsAre("as one", "1^2+0 @1 s1", "2^3+1 @3 s3", "3^4+1 @4 s4", "4^0+1 vacant"));
  EXPECT_EQ(SourcesIn(orders_), 3U);
  Sound();
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 @2 s2"));
  Sound();
}

TEST_F(ReduceRing, AllThatIsReportedOfAPlanCountsBeforeTheNext) {
  Start(8, 5);
  Everyone(8);
  Plan();
  Lose(SlotOn(2));
  Lose(SlotOn(4));
  Lose(SlotOn(2));
  Plan();
  EXPECT_EQ(Shape(), "a ring, nodes: 5");
  EXPECT_EQ(SlotOn(2) + SlotOn(4), 0U);
  Sound();
}

TEST_F(ReduceRing, ALossOfAnEarlierPlanChangesNothing) {
  Start(5, 3);
  Everyone(5);
  Plan();
  const std::map<std::uint32_t, std::uint64_t> before = attempts_;
  Lose(1);
  Plan();
  for (const auto& [slot, attempt] : before) {
    planner_->OnSlotLost({options_.target, 7, attempt, slot, ErrorCode::kPeerLost, ""}, now_);
  }
  EXPECT_THAT(Plan(), IsEmpty());
}

// Too little is left for a ring: after the wait for more a tree, all at once, whose root is said
// though nobody executes it, so that nothing of the ring's target is left.
TEST_F(ReduceRing, WhatIsTooSmallForARingIsATreeFromThenOn) {
  Start(3);
  Everyone(3);
  Plan();
  Lose(1, ErrorCode::kNotFound);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, now_ + RingWaitsFor(layout_, link_).from_last);
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("as one", "1^2+0 @2 s2", "2^3+1 @3 s3", "3^0+1 vacant"));
  EXPECT_EQ(Shape(), "a tree, slots: 3");
  Arrive(1);
  EXPECT_THAT(Plan(), ElementsAre("3^0+1 @1 s1"));
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 vacant"));
  Arrive(2);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 @2 s2"));
}

TEST_F(ReduceRing, WhatComesInTheWaitMakesARingAgain) {
  Start(3);
  Everyone(3);
  Plan();
  Lose(1, ErrorCode::kNotFound);
  EXPECT_THAT(Plan(), IsEmpty());
  Tell(1, 9);
  Plan();
  EXPECT_EQ(Shape(), "a ring, nodes: 3");
}

TEST_F(ReduceRing, WhenNothingIsLeftItWaitsForTheFirstSuspicionToEnd) {
  Start(2);
  Everyone(2);
  Plan();
  Lose(SlotOn(1));
  Lose(SlotOn(2));
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(Shape(), "no plan");
  EXPECT_EQ(next_, now_ + seconds(1));
  now_ = next_;
  Plan();
  EXPECT_EQ(Shape(), "a ring, nodes: 2");
}

TEST_F(ReduceRing, ASourceThatWasDeletedInTheMiddleIsMissedWhenItsPlanEnds) {
  Start(4, 3);
  Everyone(3);
  Plan();
  planner_->OnDeleted(Source(2));
  EXPECT_FALSE(planner_->failure());  // it is pinned
  EXPECT_THAT(Plan(), IsEmpty());
  planner_->OnDeleted(Source(4));
  EXPECT_FALSE(planner_->failure());
  Lose(SlotOn(1));
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kDeleted);
  EXPECT_THAT(planner_->failure()->message,
              HasSubstr(Source(2).ToHex() + ", a source, was deleted: 2 of 4 sources are left"));
  EXPECT_THAT(Plan(), IsEmpty());
}

// If it was told which one is gone, the others of its node need not be left alone for a while, in
// which they would be late.
TEST_F(ReduceRing, ADeletedSourceDoesNotTakeItsNeighboursAlong) {
  Start(7, 6);
  for (int i = 1; i <= 6; ++i) Tell(i, i % 3 + 1);
  Plan();
  planner_->OnDeleted(Source(2));
  Lose(SlotOn(3), ErrorCode::kDeleted);
  Arrive(7);
  Plan();
  EXPECT_EQ(Shape(), "a ring, nodes: 4");
  EXPECT_EQ(SourcesIn(orders_), 6U);
  Sound();
}

TEST_F(ReduceRing, ErrorsThatNobodyCanRepairEndIt) {
  Start(3);
  Everyone(3);
  Plan();
  Lose(4, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kInvalidArgument);
}

// What fails with every plan at once is a tree in the end, however often its sources are told anew.
TEST_F(ReduceRing, RingAfterRingIsLostUntilItIsATree) {
  Start(3);
  Everyone(3);
  Plan();
  int rings = 1;
  for (; Shape() != "a tree, slots: 3" && rings < 1000; ++rings) {
    const int node = 1 + rings % 3;
    Lose(SlotOn(node));
    Tell(node, node);
    Plan();
    WaitForRing();
    Plan();
  }
  EXPECT_EQ(rings, 65);
  EXPECT_EQ(SourcesIn(orders_), 3U);
  Sound();
}

// --- nodes without memory

// It serves its source as it is, where a line begins.
TEST_F(ReduceRing, WhoHasNoMemoryMakesItATreeAndNeedsNone) {
  Start(4);
  Everyone(4);
  Plan();
  LoseMemory(3);
  EXPECT_THAT(Plan(),
              ElementsAre("as one", "1^2+0 @3 s3", "2^3+1 @1 s1", "3^4+1 @2 s2", "4^0+1 @4 s4"));
  EXPECT_EQ(next_, kNever);
  Sound();
}

TEST_F(ReduceRing, ItStaysATreeWithoutThatNode) {
  Start(5, 4);
  Everyone(4);
  Plan();
  LoseMemory(3);
  planner_->OnHolderGone(Source(3), NodeId(3));
  Arrive(5);
  Plan();
  EXPECT_EQ(Shape(), "a tree, slots: 4");
  EXPECT_EQ(SlotOn(3), 0U);
  Sound();
}

// What the others lack, for a ring, a tree may not need.
TEST_F(ReduceRing, ASourceOfSeveralNodesIsFoldedWhereThereIsMemory) {
  Start(4);
  Everyone(4);
  Plan();
  Tell(4, 1);
  LoseMemory(4);
  Plan();
  EXPECT_EQ(SlotOn(4), 0U);
  EXPECT_EQ(SourcesIn(orders_), 4U);
  Sound();
}

TEST_F(ReduceRing, InTheTreeThatFollowsThePlaceOfALateSourceIsKeptForIt) {
  Start(4);
  Everyone(4);
  Plan();
  Lose(SlotOn(4));
  Plan();
  now_ = next_;
  Plan();
  LoseMemory(2);
  EXPECT_THAT(Plan(), ElementsAre("2^3+2 @self", "5^2+0 @2 s2"));
  Arrive(4);
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 @4 s4"));
}

// A tree asks less of a node than a ring, so each is asked again.
TEST_F(ReduceRing, WhereNobodyHasMemoryForARingATreeIsTried) {
  Start(4);
  Everyone(4);
  Plan();
  for (int node = 1; node <= 4; ++node) LoseMemory(node);
  EXPECT_FALSE(planner_->failure());
  EXPECT_THAT(Plan(),
              ElementsAre("as one", "1^2+0 @1 s1", "2^3+1 @2 s2", "3^4+1 @3 s3", "4^0+1 @4 s4"));
  Lose(2, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("2^3+2 @self", "5^2+0 @2 s2"));
}

}  // namespace
}  // namespace hoplite::planner
