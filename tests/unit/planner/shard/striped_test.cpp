// Striped reductions (R64): a plan that is taken as one, what a loss resets, and when what several
// roots made is committed. A, B and D make stripes 0, 1, and 2 and 3 of the target in roots 4, 5
// and 6; their ring slots are 1, 2 and 3.
#include <string>

#include <fmt/format.h>

#include "reduction_scenario.h"

namespace hoplite::planner {
namespace {

// --- orders

TEST_F(Striped, APlanIsOrderedAndFedAsOne) {
  Join("A").Join("B").Join("D").Join("C");
  Open("C").Shape().Ignore();
  Order(Ring({"A", "B", "D"}).All());
  Expect("A: slot 1 v1", "B: slot 2 v2", "D: slot 3 v3",  //
         "A: slot 4 v4", "B: slot 5 v4", "D: slot 6 v4",  //
         "A: 1 pulls 3 from D v3 {2}", "B: 2 pulls 1 from A v1 {12}", "D: 3 pulls 2 from B v2 {1}",
         "A: 4 pulls 3 from D v3 {1}", "B: 5 pulls 1 from A v1 {2}", "D: 6 pulls 2 from B v2 {12}");
  EXPECT_EQ(At(4), target());
  EXPECT_EQ(state_->Find(object_)->slots.size(), 6U);
}

TEST_F(Striped, AsOneOfFourAndOfTwo) {
  for (const Names& members : {Names{"A", "B", "D", "L"}, Names{"A", "B"}}) {
    object_ = ObjectId::FromName("of " + std::to_string(members.size()));
    Join("A").Join("B").Join("D").Join("L").Join("C");
    Open("C").Shape();
    Order(Ring(members).All());
    Ignore();
    EXPECT_EQ(state_->Find(object_)->slots.size(), 2 * members.size());
    EXPECT_EQ(state_->Find(object_)->holders.size(), members.size());
    for (const std::string& member : members) Asks(member);
    HasAll("A");
    ExpectAmong(fmt::format("C: committed v{} of {}", members.size() == 4 ? 5 : 8, members.size()));
  }
}

TEST_F(Striped, MoreMembersThanStripesHaveFewerRoots) {
  layout_ = Layout::For(64 * 16 * 1024, 2);
  Join("A").Join("B").Join("D").Join("C");
  Open("C").Shape();
  Order(Ring({"A", "B", "D"}).All());
  ExpectAmong("B: 2 pulls 1 from A v1 {2}");
  EXPECT_EQ(state_->Find(object_)->slots.size(), 5U);
  Asks("B").HasAll("B").Ignore();
  Asks("D");
  Expect("B: committed v4 of 3", "D: committed v4 of 3", "C: committed v4 of 3", "A: drops 1 v1",
         "B: drops 2 v2", "D: drops 3 v3", "B: drops 5 v4", "D: drops 6 v4");
}

// Each root is listed with what it makes, and what it makes is nobody else's to give.
TEST_F(Striped, TheTargetIsReadFromItsRoots) {
  Begin();
  Reads("R");
  Expect("R <- A {1}", "R <- B {2}", "R <- D {12}");
  EXPECT_TRUE(HolderAt("D").producing);
}

TEST_F(Striped, MembersReadInRingOrderWhateverTheirSlots) {
  Begin();
  JointGets();
  Reads("D").Reads("A").Reads("B");
  Now();
  Expect("B <- A {13}", "D <- B {3}", "A <- D {14}");
}

// A coordinator that knows a pair out of reach has changed places in the ring: who can't fold from
// another can't read from there either (R68).
TEST_F(Striped, MembersReadAlongTheRingThatFolds) {
  Begin();
  Order(Ring({"A", "D", "B"}).All()).Ignore();
  JointGets();
  Reads("D").Reads("A").Reads("B");
  Now();
  Expect("D <- A {13}", "B <- D {3}", "A <- B {14}");
}

TEST_F(Striped, AKnownPlanOrAnOlderOneChangesNothing) {
  Begin();
  const RingOrders others = Ring({"B", "A", "D"});
  Order(others.All(), 7).Order(others.All(), 3).Order({}, 7);
  Expect();
  Order(others.All(), 8);
  ExpectAmong("B: slot 1 v6");
}

TEST_F(Striped, AnOrderFromBeforeThePlanChangesNothing) {
  Begin();
  Assign(9, "R", 0, 0, 7).Assign(1, "R", 4, 0, 6);
  Expect();
}

TEST_F(Striped, APlanOfAnotherRequestOrBeforeTheShapeIsNone) {
  Join("A").Join("B").Join("C");
  Open("C");
  Order(Ring({"A", "B"}).All());
  Shape();
  Say("A", ReduceOrders{object_, request_, 9, {}});
  Say("C", ReduceOrders{object_, 99, 9, {}});
  Expect("C: opened");
}

TEST_F(Striped, AStrangerInAPlanIsLostAtOnce) {
  Join("A").Join("B").Join("C");
  Open("C").Shape();
  Order(Ring({"A", "B", "nobody"}).All());
  ExpectAmong("C: lost slot 6");
  AllAsk().HasAll("A");
  Expect();
}

// --- losses

TEST_F(Striped, ALostNodeLosesItsRingSlotAndItsRoot) {
  Begin().Lose("B");
  Expect("C: lost slot 2", "C: lost slot 5");
}

TEST_F(Striped, WhatEitherParentSaysOfAChildCounts) {
  Begin();
  StreamLost("B", 5, 1);
  Expect("C: lost slot 1");
  StreamLost("B", 2, 1);  // the same slot
  StreamLost("A", 4, 2);  // not its child
  Expect();
  Failed("D", 6);
  Expect("C: lost slot 6");
}

TEST_F(Striped, AChildIsDrainedWhenAllItsParentsHaveIt) {
  Begin().Drained("B", 2, 1).Lose("A");
  Expect("C: lost slot 1", "C: lost slot 4");
}

TEST_F(Striped, ThenItIsNotMissed) {
  Begin().Drained("B", 2, 1).Drained("B", 5, 1).Lose("A");
  Expect("C: lost slot 4");
}

TEST_F(Striped, WithItsCoordinatorItEndsForEverybody) {
  Begin();
  Reads("R").Ignore();
  Lose("C");
  Expect("A: drops 1 v1", "B: drops 2 v2", "D: drops 3 v3", "A: drops 4 v4", "B: drops 5 v4",
         "D: drops 6 v4", "A: aborted peer_lost", "B: aborted peer_lost", "D: aborted peer_lost",
         "R: aborted peer_lost");
}

TEST_F(Striped, GivenUpOrDeletedItEndsLikeAnother) {
  Begin().Close();
  ExpectAmong("D: drops 6 v4");
  Begin().Delete("A");
  ExpectAmong("C: reduction refused deleted");
}

// --- another plan

TEST_F(Striped, APlanTakesThePlaceOfAPlan) {
  Begin().Lose("B");
  Reads("R").Ignore();
  Order(Ring({"A", "D"}).All());
  Expect("A: drops 1 v1", "D: drops 3 v3", "A: drops 4 v4", "D: drops 6 v4",  // B is no more
         "A: recall v5", "D: recall v5", "R: recall v5",                      //
         "A: slot 1 v6", "D: slot 2 v7", "A: slot 3 v5", "D: slot 4 v5",      //
         "A: 3 pulls 2 from D v7 {3}", "D: 4 pulls 1 from A v6 {12}");
  Asks("A").Asks("D").HasAll("A");
  ExpectAmong("C: committed v5 of 2");
}

TEST_F(Striped, ATreeTakesThePlaceOfAPlan) {
  Begin().Lose("B");
  Ignore();
  const auto source = [&](const std::string& node) {
    return std::vector<SlotInput>{{RingOrders::SourceOf(Id(node)), {{1, 1}}}};
  };
  Order({{1, {2}, layout_.all_stripes(), 0, Id("A"), source("A")},
         {2, {}, layout_.all_stripes(), 2, Id("D"), source("D")}});
  ExpectAmong("D: 2 pulls 1 from A v6");
  Assign(3, "L", 2, 0);  // and goes on as a tree does
  Expect("L: slot 3 v7", "D: 2 pulls 3 from L v7");
  Asks("D");
  Expect("D: committed v5 of 3", "C: committed v5 of 3", "A: drops 1 v6", "D: drops 2 v5",
         "L: drops 3 v7");
  EXPECT_TRUE(HolderAt("D").complete);
}

TEST_F(Striped, APlanTakesThePlaceOfATree) {
  Tree();
  Order(Ring({"A", "B", "D"}).All());
  ExpectAmong("B: drops 2 v2");
  EXPECT_EQ(state_->Find(object_)->slots.size(), 6U);
}

// What nobody makes any more is not there to be read.
TEST_F(Striped, APlanWithoutARootTakesTheTargetAway) {
  Begin();
  Reads("R").Ignore();
  Order({{1, {2}, layout_.all_stripes(), 0, Id("L"), {}}});
  ExpectAmong("R: recall v5");
  Locate("R");
  Expect();
}

// --- commit

TEST_F(Striped, ASlotIsShownWithItsStripesAndWhatIsThereOfThem) {
  Begin();
  Say("A", SlotProgress{object_, 1, At(1), StripeMarks{4, 2, 1, 0}});
  const std::vector<SlotView> slots = state_->Find(object_)->slots;
  ASSERT_EQ(slots.size(), 6U);
  EXPECT_EQ(slots[0].slot, 1U);
  EXPECT_EQ(slots[0].parents, (std::vector<std::uint32_t>{2, 5}));
  EXPECT_EQ(slots[0].stripes, 0b1110U);
  EXPECT_EQ(slots[0].valid_bytes, 3U * layout_.block_bytes);
}

TEST_F(Striped, AllRootsAskBeforeAnybodyHasAll) {
  Begin();
  Reads("A").AllAsk();
  Ignore();
  EXPECT_EQ(state_->Find(object_)->slots.size(), 6U);  // every fold is done; and nothing is final
  HasAll("A");
  Expect("A: committed v4 of 3", "B: committed v4 of 3", "D: committed v4 of 3",
         "C: committed v4 of 3", "A: drops 1 v1", "B: drops 2 v2", "D: drops 3 v3", "A: drops 4 v4",
         "B: drops 5 v4", "D: drops 6 v4");
}

TEST_F(Striped, SomebodyHasAllBeforeTheLastRootAsks) {
  Begin();
  HasAll("B").Asks("A").Asks("B").Asks("A");
  Expect();
  Asks("D");
  ExpectAmong("C: committed v4 of 3");
}

TEST_F(Striped, ARootsReportSaysThatItsNodeHasAll) {
  Begin().AllAsk();
  MakesProgress("B", 5, 15);
  Expect();
  MakesProgress("B", 5, 16);
  ExpectAmong("C: committed v4 of 3");
}

TEST_F(Striped, WhatAClosedStreamBroughtCountsToo) {
  Begin();
  Reads("A").AllAsk().Ignore();
  Scenario::Say("A", GrantClosed{object_, target(), NewestGrant("A"), Outcome::kDone,
                                 Failure::kNone, layout_.full_marks()});
  ExpectAmong("C: committed v4 of 3");
}

TEST_F(Striped, AReadersBytesDoNotCount) {
  Begin();
  Reads("R").AllAsk().HasAll("R").Ignore();
  EXPECT_EQ(state_->Find(object_)->slots.size(), 6U);
}

// The others say so themselves when they have all.
TEST_F(Striped, WhoSaidThatItHasAllIsCompleteByTheCommitAndNobodyElse) {
  Begin().AllAsk().HasAll("A").Ignore();
  EXPECT_TRUE(HolderAt("A").complete);
  for (const std::string member : {"B", "D"}) EXPECT_FALSE(HolderAt(member).complete);
  Say("B", CopyComplete{object_, target()});
  EXPECT_TRUE(HolderAt("B").complete);
}

// It has not said yet that it is complete: nobody is told that the target is lost, or may put it.
TEST_F(Striped, ARootThatDiesRightAfterTheCommitTakesNothingAlong) {
  Begin();
  Reads("R").AllAsk().HasAll("A").Ignore();
  Lose("B");
  EXPECT_TRUE(HolderAt("A").complete);
  ExpectNotAmong("R: lost B");
  Create("L");
  ExpectAmong("L: refused already_exists");
}

// A stream that broke tells that its source had as much as its receiver: that is no word of its own.
TEST_F(Striped, WhatOthersSayOfARootsMarksIsNotEnough) {
  Begin();
  Reads("A").AllAsk().Ignore();
  Scenario::Say("A", GrantClosed{object_, target(), NewestGrant("A"), Outcome::kFailed,
                                 Failure::kBroken, layout_.full_marks()});
  ExpectAmong("C: committed v4 of 3");
  EXPECT_TRUE(HolderAt("A").complete);
  for (const std::string member : {"B", "D"}) EXPECT_FALSE(HolderAt(member).complete);
}

TEST_F(Striped, AMemberThatIsTheCoordinatorHearsTheCommitOnce) {
  Join("A").Join("C");
  Open("C").Shape();
  Order(Ring({"A", "C"}).All());
  Ignore();
  Asks("A").Asks("C").HasAll("C");
  Expect("A: committed v3 of 2", "C: committed v3 of 2", "A: drops 1 v1", "C: drops 2 v2",
         "A: drops 3 v3", "C: drops 4 v3");
}

TEST_F(Striped, ARenewedRootForgetsThatItAsked) {
  Begin();
  AllAsk();
  Order(Ring({"A", "B", "D"}).All()).Ignore();
  HasAll("A").Asks("A").Asks("B");
  Expect();
  Asks("D");
  ExpectAmong("C: committed v5 of 3");
}

TEST_F(Striped, NoCommitWhileARootIsLost) {
  Begin().AllAsk().Lose("B");
  Expect("C: lost slot 2", "C: lost slot 5");
  HasAll("A");
  Expect();
  Order(Ring({"A", "D"}).All());
  Ignore();
  Asks("A").Asks("D").HasAll("D");
  ExpectAmong("C: committed v5 of 2");
}

// It has a session no more: whether it comes back with all of it, nobody knows.
TEST_F(Striped, OneThatHasAllAndIsAwayIsNotEnough) {
  Begin();
  HasAll("A").Suspend("A").Ignore();
  Asks("B").Asks("D");
  Connect("A").Asks("A").EndInventory("A");
  ExpectAmong("C: committed v4 of 3");
}

TEST_F(Striped, OnlyRootsCommitAndOnlyTheirVersion) {
  Begin();
  HasAll("A").Asks("L").Asks("R").Asks("A").Asks("B");
  Say("D", ReduceCommit{object_, At(3)});
  Expect();
}

TEST_F(Striped, CommitComesFirst) {
  Begin().AllAsk().HasAll("A").Ignore();
  Order(Ring({"A", "B"}).All());  // too late
  Lose("B");
  Expect();
  Say("A", CopyComplete{object_, target()});
  Lose("D");
  EXPECT_TRUE(HolderAt("A").complete);
}

}  // namespace
}  // namespace hoplite::planner
