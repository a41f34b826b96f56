// Who is granted what: the line, the tree, and the preferences between sources (R6-R9).
#include <map>
#include <string>

#include "planner/broadcast_cost.h"
#include "scenario.h"

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
  Join("S").Join("R1").Join("R2").Put("S").Locate("R1").Get("R2");
  Expect("S: accepted v1", "R1: located v1", "R2: located v1", "R2 <- S");
  ASSERT_EQ(state_->Find(object_)->holders.size(), 2U);
  Want("R1");
  Expect("R1 <- R2");
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
  Together();
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
  Join("S").Join("R1").Put("S").Locate("R1").Lose("S").Want("R1");
  ExpectAmong("R1: recall v2");  // any later one
}

TEST_F(Broadcast, SeveralStripesTakeOneSourceAndResumeSeparately) {
  layout_ = Layout::For(1 << 20, 4);
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Get("R2");
  Expect("S: accepted v1", "R1: located v1", "R1 <- S", "R2: located v1", "R2 <- R1");
  const StripeMarks marks{16, 16, 4, 4};  // two of four stripes are done
  Say("R1", planner::Progress{object_, VersionAt("R1"), marks});
  Say("R1", GrantClosed{object_, VersionAt("R1"), GrantId{{1, 2}}, Outcome::kFailed,
                        Failure::kNotAhead, marks});
  Expect("R1 <- S {12}");
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
  EXPECT_EQ(state_->Nodes().size(), 3U);
}

}  // namespace
}  // namespace hoplite::planner
