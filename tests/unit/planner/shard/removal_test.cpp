// Deletion marks, and eviction by permission (R17, R18).
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;

class Removal : public Scenario {};

TEST_F(Removal, DeleteTellsHoldersWaitersAndTheOneThatAsked) {
  for (const char* node : {"A", "S", "R1"}) Join(node);
  Put("S").Get("R1").Ignore();
  Delete("A");
  Expect("A: deleted", "S: deleted", "R1: deleted");
  Done("R1").Gone("S");  // what was under way has no effect
  Expect("R1: deleted");
  EXPECT_FALSE(state_->Find(object_));
}

TEST_F(Removal, AnUnknownIdIsMarkedToo) {
  Join("A").Join("S").Join("R1").Locate("R1").Delete("A").Locate("R1").Create("S");
  Expect("A: deleted", "R1: deleted", "R1: deleted", "S: refused deleted");
}

TEST_F(Removal, APutIsRefusedUntilTheMarkEndsAndToldForHowLong) {
  Join("S").Put("S").Delete("S").Ignore();
  After(seconds(18)).Create("S");
  Expect("S: refused deleted");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("blocked for another 42.0 s"));
  After(seconds(42)).Create("S");
  Expect("S: accepted v2");
}

TEST_F(Removal, ACreateThatWaitsIsRefusedByADelete) {
  Join("A").Join("S").Join("T").Put("S").Suspend("S").Create("T").Ignore();
  Delete("A");
  Expect("A: deleted", "T: refused deleted");
}

TEST_F(Removal, AMarkBeatsACopyInAnyOrder) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Connect("S").HeldComplete("S").EndInventory("S");
  const Version mark{{1, 9}};
  Connect("A").Say("A", Tombstone{object_, seconds(10), mark}).EndInventory("A");
  Expect("S: deleted");
  Restart(Recovering()).Connect("A").Say("A", Tombstone{object_, seconds(10), mark});
  EndInventory("A");
  Connect("S").HeldComplete("S").EndInventory("S");
  Expect("S: deleted");
  EXPECT_FALSE(state_->Find(object_));
}

// A node's mark begins when it hears of the Delete, and so ends after the shard's. What was put in
// between is newer than the mark.
TEST_F(Removal, ARepeatedMarkDoesNothingToWhatWasPutAfterIt) {
  Join("A").Join("S").Put("S").Delete("A");
  const Version mark = MarkAt("A");
  After(seconds(60)).Put("S").Ignore();
  Restart(Recovering()).Connect("S").HeldComplete("S").EndInventory("S");
  Connect("A").Say("A", Tombstone{object_, seconds(1), mark}).EndInventory("A");
  Expect();
  EXPECT_TRUE(state_->Find(object_));
  Restart(Recovering()).Connect("A").Say("A", Tombstone{object_, seconds(1), mark});
  EndInventory("A").Connect("S").HeldComplete("S").EndInventory("S");
  Expect();
  EXPECT_TRUE(state_->Find(object_));
}

TEST_F(Removal, AMarkNeverLastsLongerThanTheShardsOwn) {
  Join("A").Say("A", Tombstone{object_, std::chrono::hours(1000)}).After(seconds(60)).Create("A");
  Expect("A: accepted v1");
}

TEST_F(Removal, ACopyIsDroppedIfAnotherIsComplete) {
  Join("S").Join("R1").Put("S").Get("R1").Done("R1").Ignore();
  Evict("R1");
  Expect("R1: drop");
  Gone("R1");  // follows the permission, and is no news
  EXPECT_EQ(state_->Find(object_)->holders.size(), 1U);
}

TEST_F(Removal, TheLastCompleteCopyIsKept) {
  Join("S").Join("R1").Put("S").Get("R1").Done("R1").Lose("S").Ignore();
  Evict("R1");
  Expect("R1: keep");
}

TEST_F(Removal, ACopyOnASuspendedNodeDoesNotCount) {
  Join("S").Join("R1").Put("S").Get("R1").Done("R1").Suspend("S").Ignore();
  Evict("R1");
  Expect("R1: keep");
}

TEST_F(Removal, OfTwoThatAskAtOnceOneIsKept) {
  Join("S").Join("R1").Put("S").Get("R1").Done("R1").Ignore();
  JointGets().Evict("S").Evict("R1").Now();
  Expect("S: keep", "R1: drop");
}

TEST_F(Removal, ACopyThatServesIsDroppedWhenItsGrantsEnd) {
  for (const char* node : {"S", "R1", "R2", "R3"}) Join(node);
  Put("S").Get("R1").Done("R1").Get("R2").Ignore();
  Evict("S");  // feeds R2
  Expect();
  Get("R3");  // gets no new receivers
  Expect("R3: located v1", "R3 <- R1");
  Done("R2");
  Expect("S: drop");
}

TEST_F(Removal, ACopyThatWaitsToBeDroppedIsKeptIfTheOtherGoes) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1").Done("R1").Get("R2").Ignore();
  Evict("S").Lose("R1");
  Expect("S: keep");
}

TEST_F(Removal, AVoidCopyMayGoAPartialOneNot) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Ignore();
  Evict("R1");
  Expect("R1: keep");
  Say("R2", EvictAsk{object_, VersionAt("S")});
  Expect("R2: drop");
}

// --- a node that is drained (R70)

TEST_F(Removal, TheTakerOfALastCopyIsToldAndTheCopyStaysUntilItIsThere) {
  Join("S").Join("R1").Put("S").Ignore();
  Evict("S", "R1");
  Expect("R1: takes a copy v1", "S: keep");
  Get("R1");
  Expect("R1: located v1", "R1 <- S");
  Evict("S");
  Expect("S: keep");
  Done("R1").Ignore();
  Evict("S");
  Expect("S: drop");
}

TEST_F(Removal, NobodyTakesACopyThatAnotherHas) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1").Done("R1").Ignore();
  Evict("S", "R2");
  Expect("S: drop");
}

TEST_F(Removal, ATakerThatIsAwayOrTheNodeItselfIsNotTold) {
  Join("S").Join("R1").Put("S").Suspend("R1").Ignore();
  Evict("S", "R1");
  Expect("S: keep");
  Evict("S", "S");
  Expect("S: keep");
}

}  // namespace
}  // namespace hoplite::planner
