// Reductions whose members lose their sessions or whose shard restarts, and orders that no tree
// has.
#include "reduction_scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// --- sessions

TEST_F(Reductions, ACoordinatorThatComesBackHearsWhatItMissed) {
  Tree().Suspend("C").Ignore();
  Failed("A", 1);
  Expect();
  Connect("C");
  Open("C").Shape().Assign(1, "A", 2, 0, 1).Assign(2, "B", 0, 2, 2).Assign(3, "D", 2, 0, 3);
  Expect("C: opened", "C: lost slot 1");
}

TEST_F(Reductions, WhatACoordinatorGaveUpWhileItWasAwayEnds) {
  Tree().Suspend("C").Ignore();
  Connect("C").EndInventory("C");
  Expect("A: drops 1 v1", "B: drops 2 v2", "D: drops 3 v3", "C: aborted cancelled",
         "A: aborted cancelled", "B: aborted cancelled", "D: aborted cancelled");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("C gave it up"));
}

TEST_F(Reductions, ACommittedOneIsForgottenThen) {
  Tree().Commit("B").Suspend("C").Ignore();
  Connect("C").EndInventory("C");
  Expect();
  EXPECT_TRUE(HolderAt("B").complete);
}

TEST_F(Reductions, AParticipantThatComesBackIsToldItsOrdersAgain) {
  Tree().Drained("B", 2, 1).Suspend("B").Ignore();
  const Version before = SlotAt("D", 3);
  LeafOf2(3, "A").Ignore();
  Connect("B").Say("B", SlotProgress{object_, 2, {{1, 3}}, Marks(9)}).EndInventory("B");
  Expect("B: drops 2 v3", "B: slot 2 v5", "B: 2 pulls 1 from A v1", "B: 2 pulls 3 from A v4");
  Connect("D").Say("D", SlotProgress{object_, 3, before, Marks(0)}).EndInventory("D");
  Expect("D: drops 3 v3");
}

TEST_F(Reductions, ARootThatComesBackIsStillTheTargetsHolder) {
  Tree().Suspend("B").Ignore();
  Connect("B").MakesProgress("B", 2, 5).EndInventory("B");
  Expect("B: slot 2 v2", "B: 2 pulls 1 from A v1", "B: 2 pulls 3 from D v3");
  Join("R").Get("R");
  Expect("R: located v2", "R <- B");
}

TEST_F(Reductions, ARootThatComesBackCommits) {
  Tree().Suspend("B").Ignore();
  Connect("B").MakesProgress("B", 2, 64);
  Commit("B").EndInventory("B");
  ExpectAmong("C: committed v2 of 3");
}

TEST_F(Reductions, ProgressOfWhatNobodyKnowsIsAnswered) {
  Join("A").Say("A", SlotProgress{object_, 7, {{1, 3}}, Marks(1)});
  Expect("A: drops 7 v1");
  EXPECT_FALSE(state_->Find(object_));
}

TEST_F(Reductions, ARestartedShardIsToldEverythingAgain) {
  Tree();
  Join("R").Locate("R").Ignore();
  Restart(Recovering()).Connect("C");
  Open("C").Shape().Assign(1, "A", 2, 0, 1).Assign(2, "B", 0, 2, 2).Assign(3, "D", 2, 0, 3);
  Connect("A").MakesProgress("A", 1, 4).EndInventory("A");
  Connect("B").MakesProgress("B", 2, 4).EndInventory("B");
  Connect("D").EndInventory("D");
  Connect("R").Locate("R").EndInventory("R");
  Expect();  // it only collects
  After(seconds(1));
  Expect("A: drops 1 v1", "B: drops 2 v2", "C: opened", "A: slot 1 v4", "B: slot 2 v5",
         "B: 2 pulls 1 from A v4", "D: slot 3 v6", "B: 2 pulls 3 from D v6", "R: located v5");
  Commit("B");
  ExpectAmong("C: committed v5 of 3");
}

TEST_F(Reductions, WhatIsGivenUpWhileItCollectsIsNotOpened) {
  Restart(Recovering()).Join("C");
  Open("C").Close().After(seconds(1));
  Expect();
  EXPECT_FALSE(state_->Find(object_));
}

TEST_F(Reductions, OrdersThatComeWithAnOpenThatWaitsAreKept) {
  Join("C").Join("A").Join("S").Put("S").Suspend("S").Ignore();
  Open("C").Shape().Assign(1, "A", 0, 0);
  Expect();
  Lose("S");
  Expect("C: opened", "A: slot 1 v2");
}

// --- ends that some heard, and others not yet

TEST_F(Reductions, ACoordinatorThatWasLostIsToldWhatItsReadersWere) {
  Tree().Join("R").Locate("R").Lose("C");
  ExpectAmong("R: aborted peer_lost");
  const std::string told = last_message_;
  Connect("C");
  Open("C").EndInventory("C");
  Expect("C: reduction refused peer_lost");
  EXPECT_EQ(last_message_, told);
  EXPECT_FALSE(state_->Find(object_));
}

TEST_F(Reductions, WhoAsksForAFailedTargetLaterHearsWhy) {
  Tree().Close(ErrorCode::kTimeout).Ignore();
  Join("R").Locate("R").Subscribe("R");
  Expect("R: aborted timeout", "R: aborted timeout");
  EXPECT_EQ(last_message_, "it was enough");
  After(New().tombstone);
  Locate("R");
  Expect();  // it waits for whoever makes it
}

// Else a late one would pass for the answer to the next question.
TEST_F(Reductions, TheEndNamesTheQuestionThatItAnswers) {
  Join("C").Join("R").Ask("R", 0);
  Open("C").Close();
  ExpectAmong("R: aborted cancelled to 1");
  Ask("R", 0).Subscribe("R");
  Expect("R: aborted cancelled to 2", "R: aborted cancelled");
}

TEST_F(Reductions, ReadersOfTheNextAttemptWaitForThat) {
  Tree().Close().Ignore();
  Open("A", request_ + 1).Join("R").Locate("R");
  Expect("A: opened");
  Say("A", ReduceClose{object_, request_ + 1, ErrorCode::kTimeout, "it took too long"});
  ExpectAmong("R: aborted timeout");
}

TEST_F(Reductions, AnObjectThatWasPutAfterAFailureIsLostLikeAny) {
  Tree().Close().Ignore();
  Join("S").Put("S").Lose("S").Ignore();
  Join("R").Locate("R");
  Expect("R: lost S");
}

TEST_F(Reductions, AReaderThatWasAwayHearsThatItEnded) {
  Tree();
  Join("R").Get("R").Suspend("R").Ignore();
  const Version reads = VersionAt("R");
  Close().Ignore();
  Connect("R").HeldBy("R", 3).EndInventory("R");
  Expect("R: aborted cancelled");
  Say("R", protocol::Want{object_, reads, Marks(3), false, false});
  Expect("R: aborted cancelled");
}

// --- garbage

TEST_F(Reductions, ACircleOfParentsEndsTheReductionInWords) {
  Join("C").Join("A");
  Open("C").Shape().Assign(1, "A", 2, 1).Assign(2, "A", 3, 1).Ignore();
  Assign(3, "A", 1, 1);
  Expect("A: drops 1 v1", "A: drops 2 v2", "C: reduction refused protocol", "C: aborted protocol",
         "A: aborted protocol");
  EXPECT_EQ(last_message_, "slot 3, fed to 1, would be fed by itself");
}

TEST_F(Reductions, OtherOrdersThatNoTreeHas) {
  Join("C").Join("A");
  const auto wrong = [&](std::uint32_t slot, std::uint32_t parent) {
    OpenAnother("C").Shape().Assign(1, "A", 0, 1).Assign(slot, "A", parent, 0);
    ExpectAmong("C: reduction refused protocol");
    return last_message_;
  };
  EXPECT_THAT(wrong(0, 1), ::testing::HasSubstr("number out of range"));
  EXPECT_THAT(wrong(kMaxSlots + 1, 1), ::testing::HasSubstr("number out of range"));
  EXPECT_THAT(wrong(2, 2), ::testing::HasSubstr("fed by itself"));
  EXPECT_THAT(wrong(2, 0), ::testing::HasSubstr("second root"));
  EXPECT_THAT(wrong(1, 2), ::testing::HasSubstr("another parent before"));
}

TEST_F(Reductions, ASourceThatWouldCountTwiceEndsTheReductionInWords) {
  Join("C").Join("A");
  const SlotInput source{ObjectId::FromName("source 1"), {{1, 1}}};
  const auto order = [&](std::uint32_t slot, std::vector<SlotInput> inputs) {
    Say("C", protocol::OneOrder(object_, request_, ++attempts_,
                                {.slot = slot,
                                 .parents = {9},
                                 .stripes = 1,
                                 .node = Id("A"),
                                 .inputs = std::move(inputs)}));
  };
  Open("C").Shape().Ignore();
  order(1, {source});
  order(1, {source});  // the same slot again
  order(2, {});
  Ignore();
  order(2, {source});
  ExpectAmong("C: reduction refused protocol");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("has a slot already"));
  OpenAnother("C").Shape().Ignore();
  order(1, {source, source});
  ExpectAmong("C: reduction refused protocol");
}

// A source that a slot gave up, or lost, may be used by another slot.
TEST_F(Reductions, ASourceMovesToAnotherSlot) {
  Join("C").Join("A").Join("B");
  const SlotInput source{ObjectId::FromName("source 1"), {{1, 1}}};
  Open("C").Shape().LeafOf2(1, "A").Ignore();
  Assign(1, "", 2, 0).Ignore();
  Say("C", protocol::OneOrder(
               object_, request_, ++attempts_,
               {.slot = 3, .parents = {2}, .stripes = 1, .node = Id("B"), .inputs = {source}}));
  Expect("B: slot 3 v2");
  Lose("B");
  Ignore();
  Say("C", protocol::OneOrder(
               object_, request_, ++attempts_,
               {.slot = 1, .parents = {2}, .stripes = 1, .node = Id("A"), .inputs = {source}}));
  Expect("A: slot 1 v3");
}

TEST_F(Reductions, AShapeThatIsNoneIsIgnored) {
  Join("C").Join("A");
  layout_.block_bytes = 3;
  Open("C").Shape().LeafOf2(1, "A");
  Expect("C: opened");
}

TEST_F(Reductions, MarksOfTheWrongShapeAreIgnored) {
  Tree();
  Say("B", SlotProgress{object_, 2, SlotAt("B", 2), StripeMarks{1, 2, 3}});
  Say("A", SlotProgress{object_, 1, SlotAt("A", 1), StripeMarks{1000}});
  for (const SlotView& slot : state_->Find(object_)->slots) EXPECT_EQ(slot.valid_bytes, 0U);
  Expect();
}

}  // namespace
}  // namespace hoplite::planner
