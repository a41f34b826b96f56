// Who is granted what: the line, the tree, and the preferences between sources (R6-R9).
#include <map>
#include <string>

#include "planner/copies/broadcast_cost.h"
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

class Broadcast : public Scenario {};

// The example of the Hoplite paper's figure 4.
TEST_F(Broadcast, FigureFourStepByStep) {
  Join("S").Join("R1").Join("R2").Join("R3");
  Put("S");
  Expect("S: accepted v1");
  Get("R1");
  Expect("R1: located v1", "R1 <- S");
  Get("R2");  // S serves one receiver: the newcomer pulls from the partial copy
  Expect("R2: located v1", "R2 <- R1");
  Done("R1");
  Get("R3");  // S is free again, and a complete copy is better than R2's
  Expect("R3: located v1", "R3 <- S");
}

// R124
TEST_F(Broadcast, OfEqualHoldersOneInMemoryComesFirst) {
  Join("A").Join("B").Join("R1").Join("R2").Join("R3");
  Put("A").Get("B").Done("B");
  Say("A", CopyMoved{object_, VersionAt("A"), true});
  Ignore();
  Get("R1");
  Expect("R1: located v1", "R1 <- B");
  Get("R2");  // B is in use
  Expect("R2: located v1", "R2 <- A");
  Done("R1").Done("R2");
  Say("A", CopyMoved{object_, VersionAt("A"), false});
  Say("B", CopyMoved{object_, VersionAt("B"), true});
  Say("R1", CopyMoved{object_, VersionAt("R1"), true});
  Say("R2", CopyMoved{object_, VersionAt("R2"), true});
  Ignore();
  Get("R3");
  Expect("R3: located v1", "R3 <- A");
}

TEST_F(Broadcast, FigureFourWhenTheMiddleDies) {
  Join("S").Join("R1").Join("R2").Join("R3");
  Put("S").Get("R1").Get("R2");
  Ignore();
  Progress("R2", 20).Lose("R1");
  Expect("R2 <- S moved");  // resumes at its own offset
  Get("R3");
  Expect("R3: located v1", "R3 <- R2");
}

TEST_F(Broadcast, WaitsUntilTheObjectExists) {
  Join("R1").Join("S").Locate("R1");
  Expect();
  Create("S");  // not complete yet: the relay starts while the producer writes
  Expect("S: accepted v1", "R1: located v1");
  Want("R1");
  Expect("R1 <- S");
}

TEST_F(Broadcast, OnlyWhoReservedMemoryIsAHolder) {
  Join("S").Join("R1").Join("R2").Put("S").Locate("R2").Get("R1");
  Expect("S: accepted v1", "R2: located v1", "R1: located v1", "R1 <- S");
  ASSERT_EQ(state_->Find(object_)->holders.size(), 2U);
  Want("R2");
  Expect("R2 <- R1");
  EXPECT_EQ(state_->Find(object_)->holders.size(), 3U);
}

TEST_F(Broadcast, ACancelledLocateIsNotAnswered) {
  Join("S").Join("R1").Locate("R1").Say("R1", CancelLocate{object_}).Put("S");
  Expect("S: accepted v1");
}

TEST_F(Broadcast, SimultaneousReceiversOfALargeObjectFormALine) {
  for (const char* node : {"S", "R1", "R2", "R3", "R4"}) Join(node);
  layout_ = Layout::For(1 << 30, 1);
  Put("S").Get("R1").Get("R2").Get("R3").Get("R4");
  Ignore();
  const std::vector<TransferView> transfers = state_->Find(object_)->transfers;
  ASSERT_EQ(transfers.size(), 4U);
  EXPECT_EQ(transfers[0].from_name + transfers[0].to_name, "SR1");
  EXPECT_EQ(transfers[1].from_name + transfers[1].to_name, "R1R2");
  EXPECT_EQ(transfers[2].from_name + transfers[2].to_name, "R2R3");
  EXPECT_EQ(transfers[3].from_name + transfers[3].to_name, "R3R4");
}

TEST_F(Broadcast, ManyReceiversOfASmallObjectFormABushyTree) {
  layout_ = Layout::For(16 * 1024);
  Join("S").Put("S");
  for (int i = 0; i < 40; ++i) Join("R" + std::to_string(i)).Locate("R" + std::to_string(i));
  JointGets();
  for (int i = 0; i < 40; ++i) Want("R" + std::to_string(i));
  Now().Ignore();
  std::map<std::string, int> served;
  for (const TransferView& transfer : state_->Find(object_)->transfers) {
    ++served[transfer.from_name];
  }
  EXPECT_EQ(served["S"], static_cast<int>(BestDegree(40, layout_, New().link)));
  EXPECT_EQ(served["R0"], served["S"]);
  EXPECT_GT(served["S"], 1);
}

TEST_F(Broadcast, ADoneReceiverIsASourceForTheNext) {
  Join("S").Join("R1").Join("R2").Join("R3").Put("S").Get("R1").Done("R1").Get("R2").Get("R3");
  Expect("S: accepted v1", "R1: located v1", "R1 <- S", "R2: located v1", "R2 <- S",
         "R3: located v1", "R3 <- R1");
}

TEST_F(Broadcast, CompletionIsAFactWhateverBecameOfTheGrant) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1");
  // The shard took the grant back (S is lost), the stream went on by itself.
  Lose("S").Complete("R1").Get("R2");
  Expect("S: accepted v1", "R1: located v1", "R1 <- S", "R1: lost S", "R2: located v1", "R2 <- R1");
}

TEST_F(Broadcast, AReceiverThatGivesUpLeavesTheListAndItsReceiversMove) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Get("R2");
  Ignore();
  CancelWant("R1");
  Expect("R2 <- S moved");
  Close("R1", Outcome::kAbandoned);
  Expect();
  EXPECT_EQ(state_->Find(object_)->holders.size(), 2U);
}

TEST_F(Broadcast, ALostReservationIsNotParkedAgain) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Get("R2");
  Ignore();
  Close("R1", Outcome::kDeclined);
  Expect("R2 <- S moved");
  EXPECT_TRUE(state_->Find(object_)->waiters.empty());
}

TEST_F(Broadcast, AWantOfAnOldVersionIsRecalled) {
  Join("S").Join("T").Join("R1").Put("S").Locate("R1").Lose("S").Put("T").Want("R1");
  Expect("S: accepted v1", "R1: located v1", "T: accepted v2", "R1: recall v2");
}

TEST_F(Broadcast, AWantOfAVersionThatNobodyHasIsRecalled) {
  Join("S").Join("R1").Put("S").Locate("R1").Lose("S").After(New().tombstone);
  Want("R1");
  ExpectAmong("R1: recall v2");  // any later one
}

TEST_F(Broadcast, SeveralStripesTakeOneSourceAndResumeSeparately) {
  layout_ = Layout::For(1 << 20, 4);
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Get("R2");
  Expect("S: accepted v1", "R1: located v1", "R1 <- S", "R2: located v1", "R2 <- R1");
  const StripeMarks marks{16, 16, 4, 4};  // two of four stripes are done
  Say("R1", protocol::Progress{object_, VersionAt("R1"), marks});
  Say("R1", GrantClosed{object_, VersionAt("R1"), GrantId{{1, 2}}, Outcome::kFailed,
                        Failure::kNotAhead, marks});
  Expect("R1 <- S {12}");
}

// Four of its stripes have blocks. The others make no room for more receivers.
TEST_F(Broadcast, StripesWithoutBlocksAreNoUnits) {
  layout_ = Layout::For(64 * 1024, 16);
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Get("R2");
  Expect("S: accepted v1", "R1: located v1", "R1 <- S {15}", "R2: located v1", "R2 <- R1 {15}");
}

TEST_F(Broadcast, WhoLacksTheEndOnlyGetsItWithTheStripesThatHaveBlocks) {
  layout_ = Layout::For(64 * 1024, 16);
  Join("S").Join("R").Put("S").Locate("R").Want("R", 4);
  Expect("S: accepted v1", "R: located v1", "R <- S {15}");
}

TEST_F(Broadcast, AZeroByteObjectIsGrantedForItsEnd) {
  layout_ = Layout::For(0);
  Join("S").Join("R1").Put("S").Get("R1").Done("R1");
  Expect("S: accepted v1", "R1: located v1", "R1 <- S");
  EXPECT_TRUE(state_->Find(object_)->holders[1].complete);
}

TEST_F(Broadcast, ViewsSayWhoHoldsPullsAndWaits) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Progress("R1", 32);
  Ignore();
  const ObjectView view = *state_->Find(object_);
  ASSERT_EQ(view.holders.size(), 2U);
  EXPECT_TRUE(view.holders[0].complete);
  EXPECT_EQ(view.holders[1].valid_bytes, 32U * 16 * 1024);
  ASSERT_EQ(view.transfers.size(), 1U);
  EXPECT_EQ(view.transfers[0].valid_bytes, 32U * 16 * 1024);
  EXPECT_EQ(state_->Objects().size(), 1U);
  EXPECT_EQ(state_->Nodes(now_).size(), 3U);
}

// A node that keeps nothing of what it gets (R38).
class Leaf : public Scenario {
 protected:
  std::vector<std::string> Holders() {
    std::vector<std::string> names;
    for (const HolderView& holder : state_->Find(object_)->holders)
      names.push_back(holder.node_name);
    return names;
  }
};

TEST_F(Leaf, IsFedAndNeverListed) {
  Join("S").Join("L").Join("R").Join("W").Put("S").Subscribe("W").Locate("L").Ignore();
  WantAsLeaf("L");
  Expect("L <- S");
  Progress("L", 20).Get("R");  // S serves one receiver; the leaf is none of them, and no source
  Expect("R: located v1", "R <- S", "W: R partial");
  EXPECT_THAT(Holders(), ::testing::ElementsAre("S", "R"));
  Close("L", Outcome::kDone, 64).CancelWant("L");
  Expect();
}

TEST_F(Leaf, TakesAnIdleHolderRatherThanOneThatServes) {
  Join("S").Join("R").Join("L").Put("S").Get("R").Progress("R", 10).Locate("L").Ignore();
  WantAsLeaf("L");
  Expect("L <- R");
}

TEST_F(Leaf, AHolderServesOneAtATime) {
  Join("S").Join("L1").Join("L2").Put("S").Locate("L1").Locate("L2").Ignore();
  WantAsLeaf("L1").WantAsLeaf("L2");
  Expect("L1 <- S");
  Close("L1", Outcome::kDone, 64).CancelWant("L1");
  Expect("L2 <- S");
}

TEST_F(Leaf, ResumesElsewhereWhenItsSourceIsLostOrFails) {
  for (const char* node : {"S", "T", "U", "L"}) Join(node);
  Put("S").Get("T").Done("T").Get("U").Done("U").Locate("L").Ignore();
  WantAsLeaf("L").Lose("S");
  Expect("L <- S", "L <- T moved");
  Fail("L", 30);
  Expect("L <- U");
}

// It is behind nobody who could be granted behind it.
TEST_F(Leaf, WhoeverIsAheadTakesNoSourceFromIt) {
  Join("S").Join("L").Join("T").Join("R").Put("S").Locate("L").WantAsLeaf("L").Get("T").Ignore();
  Locate("R").Want("R", 40);
  Expect("R: located v1", "R <- S", "T <- R moved");
}

TEST_F(Leaf, AnEndedSessionForgetsItAndItAsksAgain) {
  Join("S").Join("L").Put("S").Locate("L").WantAsLeaf("L").Ignore();
  Suspend("L");
  Expect();
  Connect("L").WantAsLeaf("L", 30).EndInventory("L");
  ExpectAmong("L <- S strict");
  Close("L", Outcome::kAbandoned, 32);  // the grant before that
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 0U);
}

TEST_F(Leaf, HearsOfANewVersionAndOfADelete) {
  Join("S").Join("T").Join("L").Put("S").Locate("L").WantAsLeaf("L").Ignore();
  Lose("S").Put("T");
  Expect("L: lost S", "L: recall v2", "T: accepted v2");
  Locate("L").WantAsLeaf("L").Ignore();
  Delete("T");
  Expect("T: deleted", "L: deleted");
}

}  // namespace
}  // namespace hoplite::planner
