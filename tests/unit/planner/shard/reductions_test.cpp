// The shard's side of reductions: who may make a target, how attempts are numbered, what a loss
// resets, and that either a reset or the commit counts (R29-R36).
#include "reduction_scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// --- who may make a target

TEST_F(Reductions, ATargetWhoseMetadataFindsNoRoomEndsIt) {
  DirectoryOptions options = New();
  options.inline_total_bytes = 99;
  metadata_ = std::string(100, 'm');
  Restart(options).Join("C");
  Open("C").Shape();
  ExpectAmong("C: reduction refused resource_exhausted");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("--inline-total"));
}

TEST_F(Reductions, TheTargetIsReserved) {
  Join("C").Join("S");
  Open("C");
  Expect("C: opened");
  Create("S");
  Expect("S: refused already_exists");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("the target of a reduction"));
  Open("S");
  Expect("S: reduction refused already_exists");
  Open("C", 6);  // another request of the same node
  Expect("C: reduction refused already_exists");
}

TEST_F(Reductions, OfTwoInOneBatchTheFirstWins) {
  Join("C").Join("S");
  JointGets();
  Open("S").Open("C").Open("C", 6);
  Now();
  Expect("S: opened", "C: reduction refused already_exists", "C: reduction refused already_exists");
}

TEST_F(Reductions, ATargetThatExistsIsRefused) {
  Join("C").Join("S").Put("S").Ignore();
  Open("C");
  Expect("C: reduction refused already_exists");
  object_ = ObjectId::FromName("inline");
  PutInline("S", 10).Ignore();
  Open("C");
  Expect("C: reduction refused already_exists");
  object_ = ObjectId::FromName("still written");
  Create("S").Ignore();
  Open("C");
  Expect("C: reduction refused already_exists");
}

TEST_F(Reductions, ADeletedTargetIsRefusedForAsLongAsItsMark) {
  Join("C").Delete("C").Ignore();
  Open("C");
  Expect("C: reduction refused deleted");
  After(seconds(61));
  Open("C");
  Expect("C: opened");
}

TEST_F(Reductions, ASuspendedHolderIsWaitedFor) {
  Join("C").Join("S").Put("S").Suspend("S").Ignore();
  Open("C");
  Expect();
  Lose("S");
  Expect("C: opened");
}

TEST_F(Reductions, ASuspendedHolderThatComesBackHasIt) {
  Join("C").Join("S").Put("S").Suspend("S").Ignore();
  Open("C").Connect("S").HeldComplete("S").EndInventory("S");
  Expect("C: reduction refused already_exists");
}

TEST_F(Reductions, WhoGivesUpWhileItWaitsIsForgotten) {
  Join("C").Join("S").Put("S").Suspend("S").Ignore();
  Open("C").Close().Lose("S");
  Expect();
}

// --- attempts and orders

TEST_F(Reductions, OrdersAreNumberedAndPassedOn) {
  Join("C").Join("A").Join("B").Join("D");
  Open("C").Shape();
  Expect("C: opened");
  LeafOf2(1, "A");
  Expect("A: slot 1 v1");
  Root("B");
  Expect("B: slot 2 v2", "B: 2 pulls 1 from A v1");
  LeafOf2(3, "D");
  Expect("D: slot 3 v3", "B: 2 pulls 3 from D v3");
  const ObjectView view = *state_->Find(object_);
  EXPECT_EQ(view.slots.size(), 3U);
  EXPECT_EQ(view.version, SlotAt("B", 2));
  EXPECT_EQ(view.holders.size(), 1U);
}

TEST_F(Reductions, OrdersBeforeTheShapeOrOfAnotherRequestAreNone) {
  Join("C").Join("A");
  Open("C");
  LeafOf2(1, "A");
  Shape();
  Say("C", protocol::OneOrder(object_, 99, 7,
                              {.slot = 1, .parents = {2}, .stripes = 1, .node = Id("A")}));
  Say("A", protocol::OneOrder(object_, request_, 7,
                              {.slot = 1, .parents = {2}, .stripes = 1, .node = Id("A")}));
  Expect("C: opened");
}

// The first that can't be ends the reduction, and those behind it change nothing.
TEST_F(Reductions, SeveralOrdersInOneWordAreTakenInTurn) {
  Join("C").Join("A").Join("B");
  Open("C").Shape().Ignore();
  const auto order = [&](std::uint32_t slot, std::uint32_t parent, const char* node) {
    return PlannedOrder{++attempts_,
                        {.slot = slot, .parents = {parent}, .stripes = 1, .node = Id(node)}};
  };
  Say("C", ReduceOrders{object_, request_, 0, {order(1, 2, "A"), order(3, 2, "B")}});
  Expect("A: slot 1 v1", "B: slot 3 v2");
  Say("C", ReduceOrders{object_, request_, 0, {order(4, 4, "A"), order(5, 2, "B")}});
  ExpectAmong("C: reduction refused protocol");
}

TEST_F(Reductions, TheTargetIsReadWhileItIsMade) {
  Join("R").Locate("R");
  Tree().MakesProgress("B", 2, 3).Want("R");
  Expect("R <- B");
  EXPECT_EQ(HolderAt("B").valid_bytes, 3 * layout_.block_bytes);
}

// An allreduce: slots 1 to 4 in a line, A, B, D and the root E.
class Allreduce : public Reductions {
 protected:
  void Begin() {
    Join("C").Join("A").Join("B").Join("D").Join("E").Join("R");
    Open("C").Shape();
    Assign(1, "A", 2, 0).Assign(2, "B", 3, 1).Assign(3, "D", 4, 1).Assign(4, "E", 0, 1);
    Locate("A").Locate("B").Locate("D").Locate("R").Ignore();
  }
};

TEST_F(Allreduce, TheLineOfReadersFollowsTheLineOfSlots) {
  Begin();
  JointGets();
  Want("D").Want("A").Want("B").Want("R");
  Now();
  Expect("R <- E", "A <- R", "B <- A", "D <- B");
}

TEST_F(Allreduce, WhoIsFartherFromTheRootTakesTheSourceOfThoseThatAskedBefore) {
  Begin();
  Want("D");
  Expect("D <- E");
  Want("B");
  Expect("B <- E", "D <- B moved");
  Want("A");
  Expect("A <- E", "B <- A moved");
}

TEST_F(Allreduce, NobodyPassesWhoHasBytes) {
  Begin();
  Want("D").Progress("D", 1).Ignore();
  Want("B");
  Expect("B <- D");
}

TEST_F(Allreduce, APositionThatIsAssignedLaterCountsFromThenOn) {
  Join("C").Join("A").Join("E").Join("R");
  Open("C").Shape();
  Assign(4, "E", 0, 1);
  Locate("A").Locate("R").Want("A").Ignore();
  Assign(3, "A", 4, 0).Ignore();
  Want("R");
  Expect("R <- E", "A <- R moved");
}

// P7: the lost slot and those above it get new versions, no other.
TEST_F(Reductions, AResetRenewsTheSlotAndItsAncestorsOnly) {
  Join("C").Join("A").Join("B").Join("D").Join("E").Join("F").Join("R");
  Open("C").Shape();
  Assign(1, "A", 2, 0).Assign(2, "B", 4, 2).Assign(3, "D", 2, 0).Assign(4, "E", 0, 2);
  Assign(5, "F", 4, 0);
  Locate("R").Want("R").Ignore();
  Assign(3, "C", 2, 0);
  Expect("D: drops 3 v3", "E: recall v6", "R: recall v6", "C: slot 3 v7", "B: slot 2 v8",
         "E: slot 4 v6", "B: 2 pulls 1 from A v1", "B: 2 pulls 3 from C v7",
         "E: 4 pulls 2 from B v8", "E: 4 pulls 5 from F v5");
}

TEST_F(Reductions, AVacatedSlotResetsAtOnceAndFillsLater) {
  Tree().LeafOf2(3, "");
  Expect("D: drops 3 v3", "B: recall v4", "B: slot 2 v4", "B: 2 pulls 1 from A v1");
  LeafOf2(3, "A");  // nothing of it was folded: nobody else starts again
  Expect("A: slot 3 v5", "B: 2 pulls 3 from A v5");
}

TEST_F(Reductions, AVacatedRootTakesTheTargetAway) {
  Join("R").Locate("R");
  Tree().Want("R").Ignore();
  Root("");
  Expect("B: drops 2 v2", "R: recall v4", "B: recall v4");
  Locate("R");
  Expect();
  Root("A");
  Expect("A: slot 2 v5", "A: 2 pulls 1 from A v1", "A: 2 pulls 3 from D v3", "R: located v5");
}

TEST_F(Reductions, OldAttemptsChangeNothing) {
  Tree().Assign(3, "A", 2, 0, 3).Assign(3, "A", 2, 0, 1);
  Say("C", protocol::OneOrder(object_, request_, 0,
                              {.slot = 4, .parents = {2}, .stripes = 1, .node = Id("A")}));
  Expect();
}

TEST_F(Reductions, AnOrderForAStrangerIsLostAtOnce) {
  Tree().LeafOf2(3, "nobody");
  ExpectAmong("C: lost slot 3");
}

// --- losses

TEST_F(Reductions, ALostStreamIsToldOnce) {
  Tree().StreamLost("B", 2, 3).StreamLost("B", 2, 3);
  Expect("C: lost slot 3");
  EXPECT_EQ(last_message_, "it broke");
  Failed("A", 1);
  Expect("C: lost slot 1");
}

TEST_F(Reductions, ComplaintsAboutOldAttemptsAreIgnored) {
  Tree();
  const Version before = FeedAt("B", 2, 3);
  LeafOf2(3, "A").Ignore();
  Say("B", SlotFailed{object_, 2, SlotAt("B", 2), 3, before});
  Say("B", SlotFailed{object_, 2, {{1, 1}}, 3, FeedAt("B", 2, 3)});
  Say("D", SlotFailed{object_, 3, before});
  Say("A", SlotFailed{object_, 2, SlotAt("B", 2), 3, FeedAt("B", 2, 3)});  // not its slot
  Say("B", SlotFailed{object_, 2, SlotAt("B", 2), 9, {{1, 1}}});
  LeafOf2(1, "").Ignore();
  Say("B", SlotFailed{object_, 2, SlotAt("B", 2), 1, {}});  // nobody executes it
  Expect();
}

TEST_F(Reductions, ALostNodeLosesItsSlots) {
  Tree().Lose("D");
  Expect("C: lost slot 3");
  Lose("B");
  Expect("C: lost slot 2");
}

TEST_F(Reductions, ATargetIsLostOnlyAfterItsReduction) {
  Join("R").Subscribe("R");
  Tree().Ignore().Lose("B");
  Expect("C: lost slot 2", "R: B gone");
  Root("A").Commit("A").Ignore().Lose("A");
  ExpectAmong("R: lost A");
}

TEST_F(Reductions, ADrainedSlotIsNotMissed) {
  Tree().Drained("B", 2, 3).Lose("D");
  Expect();
  Commit("B");
  Expect("B: committed v2 of 3", "C: committed v2 of 3", "A: drops 1 v1", "B: drops 2 v2");
}

TEST_F(Reductions, ButIsNeededAgainOnceItsParentStartsAgain) {
  Tree().Drained("B", 2, 3).Lose("D").Failed("B", 2);
  Expect("C: lost slot 2");
  Root("C");
  Expect("B: drops 2 v2", "B: recall v4", "C: slot 2 v4", "C: 2 pulls 1 from A v1",
         "C: lost slot 3");
  LeafOf2(3, "A");
  ExpectAmong("C: 2 pulls 3 from A v6");
}

TEST_F(Reductions, AlsoIfItsParentWasVacantWhenItDied) {
  Tree().Drained("B", 2, 3).Root("").Lose("D").Ignore();
  Root("B");
  ExpectAmong("C: lost slot 3");
}

// --- commit

TEST_F(Reductions, CommitComesFirst) {
  Join("R").Locate("R");
  Tree().Want("R").Ignore();
  Commit("B");
  Expect("B: committed v2 of 3", "C: committed v2 of 3", "A: drops 1 v1", "B: drops 2 v2",
         "D: drops 3 v3");
  Root("A");  // too late
  StreamLost("B", 2, 3).Lose("A");
  Expect();
  EXPECT_TRUE(HolderAt("B").complete);
  Close();
  Lose("C");
  Expect();
}

TEST_F(Reductions, ResetComesFirst) {
  Tree();
  const Version before = SlotAt("B", 2);
  LeafOf2(3, "A").Ignore();
  Say("B", ReduceCommit{object_, before});
  Expect();
  Commit("B");
  ExpectAmong("C: committed v4 of 3");
}

TEST_F(Reductions, OnlyTheRootCommits) {
  Tree();
  Say("A", ReduceCommit{object_, SlotAt("B", 2)});
  Say("A", ReduceCommit{object_, SlotAt("A", 1)});
  Expect();
}

TEST_F(Reductions, ARepeatedCommitIsAnsweredAgain) {
  Tree().Commit("B").Ignore();
  Commit("B");
  Expect("B: committed v2 of 0");
  Close();
  Commit("B");
  Expect("B: committed v2 of 0");
}

TEST_F(Reductions, ACoordinatorThatMissedTheCommitHearsItAgain) {
  Tree();
  Suspend("C").Ignore();
  Commit("B");
  Expect("B: committed v2 of 3", "A: drops 1 v1", "B: drops 2 v2", "D: drops 3 v3");
  Connect("C");
  Open("C");
  Expect("C: opened", "C: committed v2 of 3");
  Close();
  Open("C");
  Expect("C: reduction refused already_exists");
}

// --- the end

TEST_F(Reductions, WithoutItsCoordinatorItsWaitersHearWhy) {
  Join("R").Join("W");
  Tree().Locate("R").Want("R").Subscribe("W").Ignore();
  Lose("C");
  Expect("A: drops 1 v1", "B: drops 2 v2", "D: drops 3 v3", "W: R gone", "W: B gone",
         "R: aborted peer_lost", "W: aborted peer_lost", "A: aborted peer_lost",
         "B: aborted peer_lost", "D: aborted peer_lost");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("its coordinator C was lost"));
  Create("R");  // the id is free again
  Expect("R: accepted v4", "W: R partial");
}

TEST_F(Reductions, ACoordinatorLostAfterTheCommitChangesNothing) {
  Tree().Commit("B").Ignore();
  Lose("C");
  Expect();
  EXPECT_TRUE(HolderAt("B").complete);
}

// Between Located and Want the node neither asks for nor holds anything.
TEST_F(Reductions, WhoReservesMemoryForTheTargetHearsTheEnd) {
  Join("R").Locate("R");
  Tree().Close();
  ExpectAmong("R: aborted cancelled");
}

TEST_F(Reductions, ACoordinatorThatWasLostAfterTheCommitMayStillAsk) {
  Tree().Commit("B").Ignore();
  Lose("C").Connect("C");
  Open("C");
  Expect("C: opened", "C: committed v2 of 3");
}

TEST_F(Reductions, ACommittedTargetThatIsLostMayBeMadeAgain) {
  Tree().Commit("B").Ignore();
  Lose("B").Create("A");
  Expect("A: accepted v4");
}

TEST_F(Reductions, GivenUpForAReason) {
  Join("R").Locate("R");
  Tree().Ignore();
  Close(ErrorCode::kDeleted);
  Expect("A: drops 1 v1", "B: drops 2 v2", "D: drops 3 v3", "R: aborted deleted",
         "C: aborted deleted", "A: aborted deleted", "B: aborted deleted", "D: aborted deleted");
  EXPECT_EQ(last_message_, "it was enough");
}

TEST_F(Reductions, WhoWaitsForATargetThatNobodyMakesYetHearsTheEnd) {
  Join("C").Join("R").Locate("R");
  Open("C").Close();
  Expect("C: opened", "C: aborted cancelled", "R: aborted cancelled");
}

TEST_F(Reductions, DeletingTheTargetEndsIt) {
  Tree().Delete("A");
  Expect("A: drops 1 v1", "B: drops 2 v2", "D: drops 3 v3", "C: reduction refused deleted",
         "C: aborted deleted", "A: aborted deleted", "B: aborted deleted", "D: aborted deleted",
         "A: deleted");
  Root("A");
  Expect();
}

TEST_F(Reductions, TheCoordinatorsOwnCreateIsTheResult) {
  Join("C").Join("R").Locate("R");
  Open("C").PutInline("C", 100);
  Expect("C: opened", "C: accepted v1", "R: inline v1");
  Close();  // nothing of it is left
  Expect();
}

}  // namespace
}  // namespace hoplite::planner
