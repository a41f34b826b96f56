// What replaces a lost slot of a reduce tree, and what ends a reduction.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reduce_planning.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// --- losses

TEST_F(ReducePlanning, ALostSlotIsVacatedAtOnceAndFilledWhenSomethingComes) {
  options_.degree = 2;
  Start(6);
  for (int i = 1; i <= 6; ++i) Arrive(i);
  Plan();
  for (const std::uint32_t slot : {1U, 2U, 4U}) {  // leaf, inner, root
    Lose(slot);
    const std::vector<std::string> vacated = Plan();
    ASSERT_EQ(vacated.size(), 1U);
    EXPECT_THAT(vacated[0], HasSubstr("vacant"));
    EXPECT_EQ(next_, now_ + std::chrono::seconds(1));
    EXPECT_THAT(Plan(), IsEmpty());
    Tell(static_cast<int>(slot), 77);  // its source is put again
    const std::vector<std::string> filled = Plan();
    ASSERT_EQ(filled.size(), 1U);
    EXPECT_THAT(filled[0], HasSubstr("@77"));
  }
}

TEST_F(ReducePlanning, AnotherHolderOfTheSameSourceTakesOver) {
  Start(2);
  Tell(1, 1);
  Tell(1, 9);
  Tell(2, 2);
  Plan();
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 @9 s1"));
}

TEST_F(ReducePlanning, ALossOfAnEarlierAttemptChangesNothing) {
  Start(3, 2);
  for (int i = 1; i <= 3; ++i) Arrive(i);
  Plan();
  const std::uint64_t first = attempts_[1];
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 @3 s3"));
  planner_->OnSlotLost({options_.target, 7, first, 1, ErrorCode::kPeerLost, ""}, now_);
  planner_->OnSlotLost({options_.target, 7, first, 0, ErrorCode::kPeerLost, ""}, now_);
  planner_->OnSlotLost({options_.target, 7, first, 99, ErrorCode::kPeerLost, ""}, now_);
  EXPECT_THAT(Plan(), IsEmpty());
}

TEST_F(ReducePlanning, ASuspectHolderIsUsedAgainAfterASecondOrWhenItIsToldAnew) {
  Start(1);
  Arrive(1);
  Plan();
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 vacant"));
  EXPECT_THAT(planner_->Available(), IsEmpty());
  now_ = next_ - microseconds(1);
  EXPECT_THAT(Plan(), IsEmpty());
  now_ += microseconds(1);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 @1 s1"));
  Lose(1);
  Arrive(1);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 @1 s1"));
}

TEST_F(ReducePlanning, AHolderWithoutTheSourceIsGoneUntilItIsToldAnew) {
  Start(1);
  Arrive(1);
  Plan();
  Lose(1, ErrorCode::kNotFound);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 vacant"));
  EXPECT_EQ(next_, kNever);
  now_ += std::chrono::hours(1);
  EXPECT_THAT(Plan(), IsEmpty());
  Tell(1, 1, 2);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 @1 s1"));
  planner_->OnHolderGone(Source(1), NodeId(1));  // its slot goes on until it is lost
  EXPECT_THAT(Plan(), IsEmpty());
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 vacant"));
}

TEST_F(ReducePlanning, ANewerVersionThatWasToldMeanwhileIsNotConcerned) {
  for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kPeerLost}) {
    Forget();
    Start(1);
    Tell(1, 1, 1);
    Plan();
    Tell(1, 1, 2);
    Lose(1, code);
    EXPECT_THAT(Plan(), ElementsAre("1^0+0 @1 s1"));
    EXPECT_EQ(orders_[1].inputs[0].version, (Version{{1, 2}}));
  }
}

TEST_F(ReducePlanning, ALostGroupIsSpreadOverItsOldPlaceAndNewLeaves) {
  options_.degree = 1;
  Start(8, 4);
  for (int i = 1; i <= 3; ++i) Tell(i, 1);
  Tell(4, 2);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1 s2 s3", "2^0+1 @2 s4"));
  Arrive(5);
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^2+2 @5 s5"));
  Arrive(6);
  Arrive(7);
  Arrive(8);
  EXPECT_THAT(Plan(), ElementsAre("3^1+0 @6 s6", "4^1+0 @7 s7"));
}

TEST_F(ReducePlanning, ALostGroupMovesToANodeThatCanGiveSeveral) {
  options_.degree = 1;
  Start(6, 3);
  for (int i = 1; i <= 3; ++i) Tell(i, 1);
  Plan();
  for (int i = 4; i <= 5; ++i) Tell(i, 2);
  Tell(6, 3);
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^0+1 @2 s4 s5", "2^1+0 @3 s6"));
}

// --- what ends it

TEST_F(ReducePlanning, SizesThatDifferAreNamed) {
  Start(3);
  Arrive(2);
  EXPECT_EQ(planner_->layout(), layout_);
  layout_ = Layout::For(8);
  Arrive(3);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(planner_->failure()->message, "object " + Source(3).ToHex() + " has 8 bytes, but " +
                                              Source(2).ToHex() + " has 1048576");
  EXPECT_THAT(Plan(), IsEmpty());
}

// Whatever their sizes; also when the first k are chosen already, since each may replace another.
TEST_F(ReducePlanning, SourcesThatAreNotAlikeAreNamedHoweverLateTheyCome) {
  options_.alike = "f";
  Start(3, 2);
  metadata_ = "floats\nof one";
  Arrive(1);
  metadata_ = "floats\nof two";
  Arrive(2);
  EXPECT_THAT(Plan(), Not(IsEmpty()));
  EXPECT_FALSE(planner_->failure());
  EXPECT_FALSE(planner_->Fits("flags"));
  metadata_ = "flags";
  layout_ = Layout::For(8);
  Arrive(3);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(planner_->failure()->message, "source " + Source(1).ToHex() +
                                              " is described as 'floats', but source " +
                                              Source(3).ToHex() + " as 'flags'");
}

TEST_F(ReducePlanning, ASizeThatIsNoMultipleOfTheElementIsNamed) {
  layout_ = Layout::For(10);
  Start(1);
  Arrive(1);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->message, "object " + Source(1).ToHex() +
                                              " has 10 bytes, which is no multiple of the 4 of "
                                              "float32");
}

TEST_F(ReducePlanning, BytesBehindTheElementsNeedNotHoldWholeOnes) {
  layout_ = Layout::For(10);
  options_.folded_bytes = 8;
  Start(1);
  Arrive(1);
  EXPECT_FALSE(planner_->failure());
}

TEST_F(ReducePlanning, ASourceWithFewerBytesThanAreToBeFoldedIsNamed) {
  layout_ = Layout::For(10);
  options_.folded_bytes = 12;
  Start(1);
  Arrive(1);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->message,
            "object " + Source(1).ToHex() + " has 10 bytes, of which 12 are to be folded");
}

TEST(FoldOf, SaysHowManySourcesAreUsed) {
  ReduceOptions options{.op = Op::kMean, .folded_bytes = 8};
  for (int i = 0; i < 3; ++i) options.sources.push_back(ObjectId::FromName(std::to_string(i)));
  EXPECT_EQ(FoldOf(options, DType::kFloat32), (Fold{Op::kMean, DType::kFloat32, 3, 8}));
  options.num_objects = 2;
  EXPECT_EQ(FoldOf(options, DType::kFloat32), (Fold{Op::kMean, DType::kFloat32, 2, 8}));
}

TEST_F(ReducePlanning, NothingIsAMultipleOfAnyElement) {
  layout_ = Layout::For(0);
  Start(2);
  Arrive(1);
  Arrive(2);
  EXPECT_THAT(Plan(), ElementsAre("shape 0", "1^2+0 @1 s1", "2^0+1 @2 s2"));
}

TEST_F(ReducePlanning, DeletedSourcesAreOutUntilTooFewAreLeft) {
  Start(4, 2);
  Arrive(1);
  planner_->OnDeleted(Source(1));
  Batch();
  EXPECT_THAT(Plan(), IsEmpty());
  Arrive(2);
  Batch();
  Plan();
  planner_->OnDeleted(Source(2));  // it is pinned by its slot
  planner_->OnDeleted(Source(3));
  EXPECT_FALSE(planner_->failure());
  planner_->OnDeleted(Source(4));
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kDeleted);
  EXPECT_EQ(planner_->failure()->message,
            "object " + Source(4).ToHex() +
                ", a source, was deleted: 1 of 4 sources are left, 2 are needed");
}

TEST_F(ReducePlanning, ADeletedSourceIsMissedOnceItsSlotIsLost) {
  Start(1);
  Arrive(1);
  Plan();
  planner_->OnDeleted(Source(1));
  EXPECT_FALSE(planner_->failure());
  Lose(1);
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kDeleted);
}

TEST_F(ReducePlanning, ADeletedSourceThatIsPutAgainCounts) {
  Start(2, 1);
  planner_->OnDeleted(Source(1));
  Tell(1, 3, 9);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @3 s1"));
}

TEST_F(ReducePlanning, ErrorsOfParticipantsThatNobodyCanRepairEndIt) {
  Start(2);
  Arrive(1);
  Arrive(2);
  Plan();
  Lose(1, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(*planner_->failure(), Error(ErrorCode::kInvalidArgument, "it was lost"));
}

// Bytes that arrive damaged again and again are as good as lost: others may be whole.
TEST_F(ReducePlanning, APositionWhoseBytesAreDamagedIsReplaced) {
  Start(2, 1);
  Arrive(1);
  Arrive(2);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @1 s1"));
  Lose(1, ErrorCode::kDataLoss);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 @2 s2"));
}

// The fault names no source: the others of the slot stay candidates.
TEST_F(ReducePlanning, ALostSourceDoesNotTakeItsNeighboursAlong) {
  Start(4, 3);
  for (int i = 1; i <= 3; ++i) Tell(i, 1);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @1 s1 s2 s3"));
  planner_->OnDeleted(Source(2));
  Lose(1, ErrorCode::kDeleted);
  Tell(4, 4);
  Plan();
  now_ = std::max(now_, next_);
  Plan();
  std::set<std::string> used;
  for (const auto& [slot, order] : orders_) {
    for (const SlotInput& input : order.inputs) used.insert(NumberOf(input.object));
  }
  EXPECT_THAT(used, ElementsAre("1", "3", "4"));
}

// A source that starts anew where it was (another reduction's target) is told before its old
// version is reported as gone.
TEST_F(ReducePlanning, ANewVersionIsNotLostWithTheOldOne) {
  Start(1);
  Tell(1, 1, 1);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @1 s1"));
  planner_->OnHolderGone(Source(1), NodeId{1});
  Tell(1, 1, 2);
  Lose(1, ErrorCode::kRecalled);
  EXPECT_THAT(Plan(), ElementsAre("1^0+0 @1 s1"));
  EXPECT_EQ(orders_[1].inputs[0].version, (Version{{1, 2}}));
}

}  // namespace
}  // namespace hoplite::planner
