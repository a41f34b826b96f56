// How much memory the slots of a reduction need: late sources join a slot that their node has
// already, and a node without memory for a partial result serves its sources as they are.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reduce_planning.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReduceMemory : public ReducePlanning {
 public:
  void TellAndPlan(int source, int node) {
    Tell(source, node);
    Batch();
    Plan();
  }
  // Slots with more than one input, which need memory of their own.
  std::size_t Folding() const {
    return static_cast<std::size_t>(std::ranges::count_if(orders_, [](const auto& entry) {
      const SlotOrder& order = entry.second;
      return order.node != kNoNode && order.inputs.size() + order.children > 1;
    }));
  }
  std::size_t Inputs() const {
    std::size_t inputs = 0;
    for (const auto& [slot, order] : orders_) inputs += order.inputs.size();
    return inputs;
  }
};

TEST_F(ReduceMemory, SourcesThatComeOneByOneToOneNodeShareAFewSlots) {
  for (const std::uint32_t degree : {1u, 2u, 3u, 63u}) {
    SCOPED_TRACE(degree);
    Forget();
    options_.degree = degree;
    Start(64);
    for (int i = 1; i <= 64; ++i) TellAndPlan(i, 1);
    EXPECT_EQ(Inputs(), 64u);
    EXPECT_LE(Folding(), 10u);
  }
}

TEST_F(ReduceMemory, SourcesThatComeOneByOneToFourNodesShareAFewSlotsOfEach) {
  options_.degree = 1;
  Start(64);
  for (int i = 1; i <= 64; ++i) TellAndPlan(i, i % 4 + 1);
  EXPECT_EQ(Inputs(), 64u);
  EXPECT_LE(Folding(), 12u);
}

// In a line of 5: the second source of node 1 waits at the end for what comes between.
TEST_F(ReduceMemory, ALateSourceJoinsAPositionThatHasProducedNothing) {
  options_.degree = 1;
  Start(5);
  Arrive(1);
  Batch();
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1"));
  Tell(2, 1);
  EXPECT_THAT(Plan(), ElementsAre("5^0+1 @1 s2"));
  Tell(3, 1);
  EXPECT_THAT(Plan(), ElementsAre("5^0+1 @1 s2 s3"));
  Tell(4, 4);
  EXPECT_THAT(Plan(), ElementsAre("2^3+1 @4 s4"));
  Tell(5, 1);  // below 5 nothing is vacant but 3, which is needed between
  EXPECT_THAT(Plan(), ElementsAre("3^5+1 @1 s5"));
}

// A slot that another one pulls from stays as it is.
TEST_F(ReduceMemory, ALateSourceDoesNotJoinWhatOthersPull) {
  options_.degree = 3;
  Start(4);
  Arrive(1);
  Batch();
  Plan();
  Arrive(2);
  EXPECT_THAT(Plan(), ElementsAre("2^0+3 @2 s2"));
  Tell(3, 1);
  EXPECT_THAT(Plan(), ElementsAre("3^2+0 @1 s3"));
}

TEST_F(ReduceMemory, AJoinIsNoneIfASourceOfTheSlotIsGone) {
  options_.degree = 1;
  Start(5);
  Arrive(1);
  Batch();
  Plan();
  Tell(2, 1);
  EXPECT_THAT(Plan(), ElementsAre("5^0+1 @1 s2"));
  planner_->OnHolderGone(Source(2), NodeId(1));
  Tell(3, 1);
  EXPECT_THAT(Plan(), ElementsAre("4^5+1 @1 s3"));
}

// The lost slot takes all its sources with it, and is filled once more.
TEST_F(ReduceMemory, APositionThatWasJoinedIsReplacedWhole) {
  options_.degree = 1;
  Start(4);
  Arrive(1);
  Batch();
  Plan();
  Tell(2, 1);
  Plan();
  Tell(3, 1);
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 @1 s2 s3"));
  Lose(4);
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 vacant"));
  Tell(3, 8);
  Tell(2, 7);
  EXPECT_THAT(Plan(), ElementsAre("4^0+2 @8 s3", "2^4+1 @7 s2"));
}

TEST_F(ReduceMemory, WhoHasNoMemoryServesItsSourcesAndAnotherFoldsThem) {
  Start(3);
  for (int i = 1; i <= 3; ++i) Tell(i, 1);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @1 s1 s2 s3"));
  Lose(1, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("1^0+3 @self", "2^1+0 @1 s1", "3^1+0 @1 s2", "4^1+0 @1 s3"));
  EXPECT_FALSE(planner_->failure());
  // The one that folds has none either: nobody is left.
  now_ += seconds(1);
  Lose(1, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), IsEmpty());
  now_ += milliseconds(500);
  EXPECT_THAT(Plan(), ElementsAre("1^0+3 @self"));
  now_ += seconds(6);
  Lose(1, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("1^0+3 @1"));
  now_ += seconds(1);
  Lose(1, ErrorCode::kResourceExhausted);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kResourceExhausted);
}

TEST_F(ReduceMemory, WhatNeverFitsAnywhereEndsItAtOnce) {
  options_.root_here = true;
  Start(2);
  Tell(1, 1000);
  Tell(2, 1000);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @self s1 s2"));
  Lose(1, ErrorCode::kResourceExhausted);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(*planner_->failure(), Error(ErrorCode::kResourceExhausted, "it was lost"));
}

TEST_F(ReduceMemory, AFixedOrderIsKeptWhereANodeHasNoMemory) {
  options_.fixed_order = true;
  Start(3);
  for (int i = 1; i <= 3; ++i) Arrive(i);
  Plan();
  Lose(2, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("2^3+2 @self", "4^2+0 @2 s2"));
}

TEST_F(ReduceMemory, WhoNeedsNoneAndHasNoneIsSuspect) {
  options_.degree = 1;
  Start(2);
  Arrive(1);
  Batch();
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1"));
  Lose(1, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 vacant"));
  EXPECT_EQ(next_, now_ + seconds(1));
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 @1 s1"));
}

TEST_F(ReduceMemory, WhoFoldsForOthersIsReplacedWithoutThem) {
  Start(2);
  for (int i = 1; i <= 2; ++i) Tell(i, 1);
  Plan();
  Lose(1, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("1^0+2 @self", "2^1+0 @1 s1", "3^1+0 @1 s2"));
  Lose(1, ErrorCode::kPeerLost);
  EXPECT_THAT(Plan(), IsEmpty());
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("1^0+2 @self"));
}

}  // namespace
}  // namespace hoplite::planner
