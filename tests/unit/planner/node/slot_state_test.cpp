// What a node that executes a slot of a reduction does, and when.
#include "planner/node/slot_state.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slot_execution.h"

namespace hoplite::planner {
namespace {

using namespace slot_execution;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An inner slot with a source of its own and two children, which pulls both.
Execution Pulling() {
  Execution slot = Execution::Inner(1, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1).Feed(2);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1", "pull 2"));
  return slot;
}

// --- its own sources

TEST(SlotState, AnOrderMayComeBeforeItsSources) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kGrowing).Source(1, OwnSource::kMissing);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_FALSE(slot.wants_memory());
  EXPECT_EQ(slot.waits(), milliseconds(5));  // nobody tells it
  slot.After(milliseconds(5)).Source(1, OwnSource::kGrowing);
  EXPECT_TRUE(slot.wants_memory());
}

TEST(SlotState, ASourceThatDoesNotComeIsALossAfterAWhile) {
  Execution slot = Execution::Leaf(1);
  slot.After(milliseconds(999)).Source(0, OwnSource::kMissing);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_EQ(slot.waits(), milliseconds(1));
  slot.After(milliseconds(1)).Source(0, OwnSource::kMissing);
  const std::string name = slot.state().order().order.inputs[0].object.ToHex();
  EXPECT_THAT(slot.Answers(), ElementsAre("failed: source " + name + " is not at n1"));
  EXPECT_EQ(slot.waits(), kNever - (Time(std::chrono::hours(1)) + seconds(1)));  // to be dropped
  slot.Source(0, OwnSource::kFinal);
  EXPECT_FALSE(slot.wants_memory());
}

TEST(SlotState, ASourceOfAnotherLayoutIsNotFolded) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kOtherLayout);
  EXPECT_EQ(slot.Answers().size(), 1U);
  EXPECT_TRUE(slot.state().failed());
}

TEST(SlotState, ASourceMayGoOnceItWasFinalButNotBefore) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kGrowing).Memory().Answers();
  slot.Source(0, OwnSource::kDeleted);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  slot.Source(1, OwnSource::kDeleted);
  EXPECT_TRUE(slot.state().failed());
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", testing::EndsWith("was deleted")));
}

TEST(SlotState, WhatIsServedAsItIsMustStay) {
  Execution slot = Execution::Leaf(1);
  slot.Source(0, OwnSource::kFinal).Memory().FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("report"));  // final, and sealed by who made it
  slot.Source(0, OwnSource::kVoid);
  EXPECT_THAT(slot.Answers(), ElementsAre(testing::EndsWith("was replaced or given up")));
}

// --- memory

TEST(SlotState, OneSourceIsServedAsItIsWithoutMemory) {
  const auto serves = [](Execution slot) { return slot.state().serves_source(); };
  EXPECT_TRUE(serves(Execution::Leaf(1)));
  EXPECT_FALSE(serves(Execution::Leaf(2)));
  EXPECT_FALSE(serves(Execution::Inner(1, 1)));
  EXPECT_FALSE(serves(Execution::Root(1, 0)));  // the target is an object of its own
}

TEST(SlotState, WhoGetsNoMemoryLeavesTheFoldToOthers) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kFinal).NoMemory();
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_EQ(slot.waits(), milliseconds(100));
  slot.After(seconds(2)).NoMemory();
  EXPECT_THAT(slot.Answers(), ElementsAre(testing::HasSubstr("n1 has no memory")));
  slot.After(seconds(1)).NoMemory();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // once
  // What the coordinator orders then: each source in a slot of its own, served as it is.
  Execution alone = Execution::Leaf(1);
  alone.Source(0, OwnSource::kFinal).Memory().FoldedAll();
  EXPECT_THAT(alone.Answers(), ElementsAre("report"));
}

TEST(SlotState, WhatNeverFitsIsNotWaitedFor) {
  Execution slot = Execution::Inner(0, 2);
  slot.NoMemory(false);
  EXPECT_THAT(slot.Answers(), ElementsAre(testing::HasSubstr("n1 has no memory")));
}

TEST(SlotState, MemoryThatCannotBeUsedYetGoesToTheSameOperation) {
  Execution slot = Execution::Inner(1, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1).Answers();
  EXPECT_FALSE(slot.Spares(true));  // it has just got it
  slot.After(milliseconds(100));
  EXPECT_TRUE(slot.Spares(true));
  EXPECT_FALSE(slot.Spares(false));
  slot.Folded({.any = false, .made = 0, .of_each_child = true});
  EXPECT_FALSE(slot.Spares(true));  // it has all its inputs
}

TEST(SlotState, WhoLetGoComesBackAfterAWhileAndFoldsEverythingOnceMore) {
  Execution slot = Pulling();
  slot.Ends(1).Answers();
  slot.After(milliseconds(100)).LetGo();
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_FALSE(slot.wants_memory());
  EXPECT_EQ(slot.waits(), milliseconds(100));
  slot.After(milliseconds(100));
  EXPECT_TRUE(slot.wants_memory());
  slot.Memory();
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "pull 1", "pull 2"));
}

TEST(SlotState, WhatTheParentHasIsGivenBackAndMadeAgainOnlyIfItAsks) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kFinal).Memory();
  slot.Asked().Drained();
  EXPECT_FALSE(slot.Spares(false));  // not final: those were stripes of before
  slot.FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "seal"));
  EXPECT_FALSE(slot.Spares(false));
  slot.Drained();
  EXPECT_TRUE(slot.Spares(false));
  slot.LetGo().After(std::chrono::hours(1));
  EXPECT_FALSE(slot.wants_memory());
  slot.Asked();
  EXPECT_TRUE(slot.wants_memory());
  slot.Memory().FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "report", "seal"));
}

// --- children

TEST(SlotState, AChildThatIsToldLateJoins) {
  Execution slot = Execution::Inner(1, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1"));
  slot.Ends(1).FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));  // not final: one is missing
  slot.After(seconds(60)).Feed(2);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "pull 2"));
}

TEST(SlotState, AFeedThatIsRepeatedOrTooMuchChangesNothing) {
  Execution slot = Pulling();
  slot.Feed(1).Feed(3);
  EXPECT_THAT(slot.Answers(), IsEmpty());
}

TEST(SlotState, AChildIsPulledOnlyOnceThereIsMemory) {
  Execution slot = Execution::Inner(0, 1);
  slot.Feed(1).NoMemory();
  EXPECT_THAT(slot.Answers(), IsEmpty());
  slot.Memory();
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1"));
}

TEST(SlotState, WhereAStreamBrokeTheChildIsAskedOnceMore) {
  Execution slot = Pulling();
  slot.Breaks(1, Failure::kBroken);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_EQ(slot.waits(), milliseconds(5));
  slot.After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1"));
  slot.Breaks(1, Failure::kBroken);
  EXPECT_THAT(slot.Answers(), ElementsAre("lost 1"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "lost 1"));
}

TEST(SlotState, BlocksThatWereFoldedMeanwhileAllowAnotherTry) {
  Execution slot = Pulling();
  for (std::uint32_t folded = 1; folded < 5; ++folded) {
    slot.Breaks(1, Failure::kCorrupt, folded).After(milliseconds(5));
    EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 from " + std::to_string(folded)));
  }
  slot.Breaks(1, Failure::kCorrupt, 4);
  EXPECT_THAT(slot.Answers(), ElementsAre("lost 1"));
}

TEST(SlotState, AsDoThoseBeforeTheChildGaveItsMemoryBack) {
  Execution slot = Pulling();
  slot.Breaks(1, Failure::kUnknown).After(milliseconds(5)).Answers();
  slot.Breaks(1, Failure::kNotAhead, 4).After(milliseconds(50)).Answers();
  slot.Breaks(1, Failure::kBroken, 4).After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 from 4"));
}

TEST(SlotState, AChildThatCannotBeReachedIsLostAtOnce) {
  Execution slot = Pulling();
  slot.Breaks(2, Failure::kUnreachable);
  EXPECT_THAT(slot.Answers(), ElementsAre("lost 2"));
}

TEST(SlotState, AChildThatDoesNotKnowItsSlotIsAskedForAWhile) {
  Execution slot = Pulling();
  for (int tries = 0; tries < 400; ++tries) {
    slot.Breaks(1, Failure::kUnknown).After(milliseconds(5));
    const std::vector<std::string> answers = slot.Answers();
    EXPECT_THAT(answers, testing::Contains("pull 1")) << tries;
  }
  slot.Breaks(1, Failure::kUnknown);
  EXPECT_THAT(slot.Answers(), testing::Contains("lost 1"));
}

TEST(SlotState, AChildWithoutMemoryIsWaitedForAsLongAsItTakes) {
  Execution slot = Pulling();
  for (int tries = 0; tries < 1000; ++tries) {
    slot.Breaks(1, Failure::kNotAhead).After(milliseconds(50));
    const std::vector<std::string> answers = slot.Answers();
    EXPECT_THAT(answers, testing::Contains("pull 1")) << tries;
  }
}

TEST(SlotState, StripesWhoseEndCameAreNotPulledAgain) {
  Execution slot = Pulling();
  slot.state().OnStripesEnded(1, 1);
  slot.Breaks(1, Failure::kBroken, 8).After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 from 8 in part"));
}

TEST(SlotState, ALostChildIsReplacedInANewVersion) {
  Execution slot = Pulling();
  slot.Breaks(1, Failure::kUnreachable).Answers();
  slot.Drop();  // the shard has reset it, with all above it
  slot.Ends(2).FoldedAll().After(seconds(10));
  EXPECT_THAT(slot.Answers(), IsEmpty());
  Execution again = Pulling();  // nothing of before is in it
  EXPECT_THAT(again.Repeats(), ElementsAre("report"));
}

// --- the end

TEST(SlotState, FinalOnlyAfterEveryEndAndTheLastBlock) {
  Execution slot = Execution::Inner(2, 2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kGrowing).Memory().Feed(1).Feed(2);
  slot.Answers();
  slot.Ends(1).FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));
  slot.Ends(2).Made(0);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 2"));
  slot.FoldedAll();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // a source of its own is not final
  slot.Source(1, OwnSource::kFinal);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "seal"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "drained 1", "drained 2"));
}

TEST(SlotState, ARootIsSealedByTheCommitAlone) {
  Execution slot = Execution::Root(1, 1);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1).Answers();
  slot.Committed();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // it did not ask for it
  slot.Ends(1).FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1", "report", "commit?"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "drained 1", "commit?"));
  EXPECT_FALSE(slot.state().over());
  slot.Committed();
  EXPECT_THAT(slot.Answers(), ElementsAre("seal"));
  EXPECT_TRUE(slot.state().over());
}

TEST(SlotState, ReportsWhileItMovesAndThatItLives) {
  Execution slot = Pulling();
  slot.After(milliseconds(100));
  EXPECT_THAT(slot.Answers(), ElementsAre("report"));
  EXPECT_EQ(slot.waits(), milliseconds(100));
  slot.Ends(1).Ends(2).Answers();
  EXPECT_EQ(slot.waits(), seconds(1));
}

TEST(SlotState, EqualStatesHaveEqualFingerprints) {
  const auto fingerprint = [](Execution slot) {
    Digest digest;
    slot.state().AddTo(digest);
    return digest.value();
  };
  Execution one = Pulling();
  Execution other = Pulling();
  EXPECT_EQ(fingerprint(one), fingerprint(other));
  other.Ends(1);
  EXPECT_NE(fingerprint(one), fingerprint(other));
}

}  // namespace
}  // namespace hoplite::planner
