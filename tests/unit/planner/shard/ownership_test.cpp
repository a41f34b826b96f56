// What a shard decides about ids that nodes own: rules R50-R57.
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class Owners : public Scenario {
 public:
  bool Exists() const { return state_->Find(object_).has_value(); }

  void TearDown() override {
    for (const char* node : {"A", "B", "S"}) Lose(node);
    Pass(minutes(3));
    Ignore();
    Scenario::TearDown();
  }
};

TEST_F(Owners, TheLastOwnersEndDeletesTheObjectAtOnce) {
  Join("A").Join("B").Join("S").Put("S");
  Own("A").Own("B").Ignore();
  Disown("A");
  Expect("A: owner 2 ok");
  Disown("B");
  Expect("B: owner 2 ok", "S: deleted");
  EXPECT_FALSE(Exists());
}

TEST_F(Owners, AnIdIsOwnedBeforeItExistsAndDeletedWithoutHavingExisted) {
  Join("A").Join("S");
  Own("A").Disown("A");
  Expect("A: owner 1 ok", "A: owner 2 ok");
  Create("S");
  Expect("S: refused deleted");
}

// A reduction failed, and its coordinator can't know that it owned nothing.
TEST_F(Owners, ADisownOfWhatNeverWasLeavesTheIdFree) {
  Join("A").Join("S").Disown("A");
  Expect("A: owner 1 ok");
  Locate("A");
  Expect();
  Put("S").Ignore();
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, WhatNobodyOwnsStays) {
  Join("S").Put("S").Pass(minutes(5));
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, OwnersStayWhenAllCopiesAreLost) {
  Join("A").Join("S").Put("S");
  Own("A").Lose("S");
  Join("B").Put("B").Ignore();
  Disown("A");
  Expect("A: owner 2 ok", "B: deleted");
}

TEST_F(Owners, AnOwnAfterTheLastDisownIsTooLate) {
  Join("A").Join("B");
  Own("A").Disown("A").Ignore();
  Own("B");
  Expect("B: deleted", "B: owner 1 deleted");
}

TEST_F(Owners, AnExplicitDeleteEndsOwnership) {
  Join("A").Join("S").Put("S");
  Own("A").Ignore();
  Delete("S");
  Expect("A: deleted", "S: deleted");
  Pass(seconds(60)).Put("S").Ignore();
  Disown("A");
  Expect("A: owner 2 ok", "S: deleted");  // it says that it owned what is there now
}

// A repeated mark ends at its node a little after the shard's.
TEST_F(Owners, ARepeatedMarkDoesNothingToWhoeverOwnsAfterIt) {
  Join("A").Join("B").Delete("B");
  const Version mark = MarkAt("B");
  Pass(seconds(60)).Own("A").Ignore();
  Connect("B").Say("B", Tombstone{object_, seconds(1), mark}).EndInventory("B");
  Expect();
  Put("B").Ignore();
  Disown("A");
  Expect("A: owner 2 ok", "B: deleted");
}

TEST_F(Owners, WhileTheShardCollectsNobodyIsToldThatItOwns) {
  Join("B").Delete("B").Ignore();
  const Version mark = MarkAt("B");
  Restart(Recovering()).Connect("A").Owned("A").EndInventory("A");
  Expect();
  Connect("B").Say("B", Tombstone{object_, seconds(30), mark}).EndInventory("B").Ignore();
  Pass(seconds(2));
  Expect("A: deleted", "A: owner 1 deleted");
}

// --- whose word counts

TEST_F(Owners, AWordOfAnOlderSessionChangesNothing) {
  Join("A").Join("S").Put("S");
  Own("A").Suspend("A");
  numbers_["A"] = 2;  // a Disown that the shard has not read
  Connect("A").Owned("A").EndInventory("A").Ignore();
  Say("A", Owner{object_, 2, false});
  Expect();
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, WhatAnInventoryDoesNotRepeatIsOwnedNoMore) {
  Join("A").Join("S").Put("S");
  Own("A").Suspend("A").Ignore();
  Connect("A");
  EXPECT_TRUE(Exists());
  EndInventory("A");
  Expect("S: deleted");
}

TEST_F(Owners, WhatAnInventoryRepeatsStaysOwned) {
  Join("A").Join("S").Put("S");
  Own("A").Suspend("A").Ignore();
  Connect("A").Owned("A").EndInventory("A");
  Expect("A: owner 2 ok");
  Pass(minutes(2));
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, ANodeOwnsNoMoreThanTheLimit) {
  DirectoryOptions options = New();
  options.owned_limit = 1;
  Restart(options).Join("A").Join("B").Join("S").Put("S");
  Say("A", Owner{ObjectId::FromName("other"), ++numbers_["A"], true}).Ignore();
  Own("A");
  Expect("A: owner 2 limit");
  OwnedPut("A");
  Expect("A: refused already_exists");
  Delete("S").Pass(seconds(61)).Ignore();
  OwnedPut("A");
  Expect("A: refused resource_exhausted");
  EXPECT_THAT(last_message_, HasSubstr("A owns 1 objects of this directory shard"));
  Own("B");
  Expect("B: owner 1 ok");
  Say("A", Owner{ObjectId::FromName("other"), ++numbers_["A"], false}).Ignore();
  Own("A");
  Expect("A: owner 6 ok");
}

// --- losses

TEST_F(Owners, ALostNodeOwnsForTheOrphanGrace) {
  Join("A").Join("S").Put("S");
  Own("A").Lose("A").Ignore();
  Pass(milliseconds(29'900));
  EXPECT_TRUE(Exists());
  Pass(milliseconds(200));
  Expect("S: deleted");
}

TEST_F(Owners, ALostNodeThatReturnsInTimeOwnsOn) {
  Join("A").Join("S").Put("S");
  Own("A").Lose("A").Ignore();
  Pass(seconds(20)).Connect("A").Owned("A").EndInventory("A");
  Expect("A: owner 2 ok");
  Pass(minutes(1));
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, ALostNodeOwnsForTheGraceThatItTold) {
  Join("A").Join("B").Join("S").Put("S");
  OwnFor("A", seconds(0)).OwnFor("B", seconds(50)).Ignore();
  EXPECT_EQ(state_->Find(object_)->grace, seconds(50));
  Lose("B").Pass(seconds(49)).Lose("A").Ignore();
  EXPECT_TRUE(Exists());
  Pass(seconds(1));
  Expect("S: deleted");
}

TEST_F(Owners, NoGraceIsLongerThanAMark) {
  Join("A").Join("S").Put("S");
  OwnFor("A", std::chrono::hours(24)).Lose("A").Pass(seconds(59)).Ignore();
  EXPECT_TRUE(Exists());
  Pass(seconds(1));
  Expect("S: deleted");
}

TEST_F(Owners, AnAcceptedPutLengthensAGrace) {
  Join("A").Join("S");
  OwnFor("A", seconds(0)).OwnedPut("A").Ignore();
  EXPECT_EQ(state_->Find(object_)->grace, std::nullopt) << "the orphan grace";
}

// Another's Disown may overtake the inventory of one who returns.
TEST_F(Owners, NothingGoesWhileANodeTellsItsInventory) {
  Join("A").Join("B").Join("S").Put("S");
  Own("A").Own("B").Lose("B").Pass(seconds(31)).Ignore();
  Connect("B").Disown("A");
  Expect("A: owner 2 ok");
  Owned("B").EndInventory("B");
  Expect("B: owner 2 ok");
  EXPECT_TRUE(Exists());
  Disown("B");
  Expect("B: owner 3 ok", "S: deleted");
}

TEST_F(Owners, WhenTheInventoryEndsOrItsSessionTheShardLooksAgain) {
  for (const bool ends : {true, false}) {
    Restart(New()).Join("A").Join("B").Join("S").Put("S");
    Own("A").Suspend("B");
    Connect("B").Disown("A").Ignore();
    EXPECT_TRUE(Exists());
    if (ends) EndInventory("B");
    if (!ends) Suspend("B");
    Expect("S: deleted");
  }
}

// --- a shard that does not know all owners

TEST_F(Owners, ARestartedShardWaitsForOwnersThatItCannotKnow) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Connect("S").HeldOwned("S").EndInventory("S");
  Join("A").Own("A").Pass(seconds(5));
  Ignore();
  Disown("A");  // the last one that it knows
  Expect("A: owner 2 ok");
  Pass(milliseconds(26'900));
  EXPECT_TRUE(Exists());
  Pass(seconds(1));
  Expect("S: deleted");
}

TEST_F(Owners, AnOwnerThatComesInThatTimeIsInTime) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Connect("S").HeldOwned("S").EndInventory("S");
  Pass(seconds(31)).Connect("B").Owned("B").EndInventory("B");
  Expect("B: owner 1 ok");
  Pass(minutes(2));
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, ALateCopyOfAnOwnedIdGetsTheSameTime) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Join("A").Pass(minutes(2)).Ignore();
  Connect("S").HeldOwned("S").EndInventory("S");
  Pass(milliseconds(31'900));
  EXPECT_TRUE(Exists());
  Pass(milliseconds(200));
  Expect("S: deleted");
}

TEST_F(Owners, ThatANodeOwnedAnIdOnceIsEnoughForWhoeverDidNotHear) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Connect("S").HeldComplete("S").EndInventory("S");
  Connect("A").Owned("A", false).EndInventory("A").Pass(seconds(2));
  ExpectAmong("S: ever owned");
  Pass(seconds(33));
  Expect("S: deleted");
}

TEST_F(Owners, WhenAllSessionsWereGoneTheFirstBringsTheTimeAnew) {
  Join("A").Join("S").Put("S");
  Own("A").Suspend("A").Suspend("S").Ignore();
  Connect("S").HeldOwned("S").EndInventory("S").Lose("A").Pass(milliseconds(31'900));
  EXPECT_TRUE(Exists());
  Pass(milliseconds(200));
  Expect("S: deleted");
}

TEST_F(Owners, AStoppedShardAddsTheStop) {
  Join("A").Join("S").Put("S");
  Own("A").Lose("A").Pass(seconds(10)).Ignore();
  After(minutes(5));
  Pass(milliseconds(18'500));
  EXPECT_TRUE(Exists());
  Pass(seconds(3));
  Expect("S: deleted");
}

// --- who hears that an id is owned

TEST_F(Owners, HoldersHearOfTheFirstOwner) {
  Join("A").Join("B").Join("S").Put("S").Get("B").Ignore();
  Own("A");
  Expect("A: ever owned", "B: ever owned", "S: ever owned", "A: owner 1 ok");
  Disown("A").Ignore();
}

TEST_F(Owners, ALaterOneHearsItWithTheAnswer) {
  Join("A").Join("B").Join("S");
  OwnedPut("S").Complete("S").Ignore();
  std::vector<Action> actions;
  state_->Apply({now_, NodeSaid{Id("B"), protocol::Locate{object_}}});
  state_->Plan(now_, actions);
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_TRUE(std::get<Located>(actions[0].body).ever_owned);
}

TEST_F(Owners, AnInventoryThatDoesNotKnowItIsTold) {
  Join("A").Join("S").Put("S").Suspend("S");
  Own("A").Ignore();
  Connect("S").HeldComplete("S");
  Expect("S: ever owned");
  EndInventory("S").Disown("A").Ignore();
}

// --- requests that own

TEST_F(Owners, AnOwnedPutOwnsAtItsAcceptance) {
  Join("A").Join("S");
  OwnedPut("S").Complete("S");
  Expect("S: accepted v1");
  Disown("S");
  Expect("S: owner 2 ok", "S: deleted");
}

TEST_F(Owners, ARefusedPutOwnsNothing) {
  Join("A").Join("S").Put("S").Ignore();
  OwnedPut("A");
  Expect("A: refused already_exists");
  Pass(minutes(2));
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, APutThatIsTakenBackOwnsNothingAndLeavesTheIdFree) {
  Join("A").Join("S");
  OwnedPut("A", 7).Say("A", Withdraw{object_, 7});
  Expect("A: accepted v1", "A: refused cancelled");
  Put("S");
  Expect("S: accepted v2");
  Pass(minutes(2));
  EXPECT_TRUE(Exists());
}

TEST_F(Owners, WhatItsClientOwnsBesideAPutThatIsTakenBackStays) {
  Join("A").Join("S");
  OwnedPut("A", 7).Own("A").Say("A", Withdraw{object_, 7}).Ignore();
  Pass(minutes(2)).Put("S").Ignore();
  Disown("A");
  Expect("A: owner 3 ok", "S: deleted");
}

TEST_F(Owners, AnOwnedPutThatIsRepeatedOwnsOn) {
  Join("A").Join("S");
  OwnedPut("A").Suspend("A").Ignore();
  Connect("A");
  Say("A", protocol::Create{
               .object = object_, .layout = layout_, .attempt = 1, .owned = true, .number = 1});
  EndInventory("A");
  Expect("A: accepted v2");
  Pass(minutes(2));
  EXPECT_TRUE(Exists());
}

// Nobody owns it for as long as the request waits, which its own node's marker would end.
TEST_F(Owners, AnOwnedPutThatWaitsKeepsTheIdAlive) {
  Join("A").Join("B").Join("S").Put("S");
  Own("B").Suspend("S");
  OwnedPut("A").Ignore();
  Disown("B");
  Expect("B: owner 2 ok");
  Lose("S");
  Expect("A: accepted v2");
}

TEST_F(Owners, APutForOwnersIsRefusedWhenNobodyOwns) {
  Join("A").Join("B");
  PutIfOwned("A");
  Expect("A: refused not_found");
  Own("B").Ignore();
  PutIfOwned("A");
  Expect("A: accepted v1");
  Disown("B");
  Expect("B: owner 2 ok", "A: deleted");
}

TEST_F(Owners, APutForOwnersThatMayBeUnknownIsAcceptedAndGoesIfNoneComes) {
  Restart(Recovering()).Join("A").Pass(seconds(2));
  PutIfOwned("A");
  Expect("A: accepted v1");
  Pass(seconds(29));
  EXPECT_TRUE(Exists());
  Pass(seconds(2));
  Expect("A: deleted");
}

}  // namespace
}  // namespace hoplite::planner
