// Streams that break, slow sources, and sources handed on (R7, R8, R10).
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;

class Failures : public Scenario {
 public:
  // S feeds R1, R1 feeds R2, R2 feeds R3.
  void Line() {
    for (const char* node : {"S", "R1", "R2", "R3"}) Join(node);
    Put("S").Get("R1").Get("R2").Get("R3");
    Ignore();
  }
  // So many bytes of it have come, and so many a second come of all objects together.
  void Has(const std::string& node, std::uint32_t bytes, std::uint64_t rate) {
    Say(node, protocol::Progress{object_, VersionAt(node), Marks(bytes / layout_.block_bytes), rate,
                                 Duration{0}, Duration{0}, now_});
  }
  // R2 gets 32 MB/s of it while R1 has enough; R1, whose source has all, gets 1.5 MB/s.
  void LittleComesToR1(std::uint64_t in_all) {
    layout_ = Layout::For(256 << 20, 1);
    Line();
    After(milliseconds(1));
    Has("R1", 20'000'000, in_all);
    Has("R2", 200'000, 32'000'000);
    After(milliseconds(30));
    Has("R1", 20'300'000, in_all);
    Has("R2", 600'000, 32'000'000);
    After(milliseconds(300));
    Has("R2", 7'000'000, 32'000'000);
    Has("R1", 20'600'000, in_all);
    After(milliseconds(300));
    Has("R2", 13'400'000, 32'000'000);
    Has("R1", 20'900'000, in_all);
  }
};

TEST_F(Failures, ABrokenStreamResumesFromTheSourceOfItsSource) {
  Line();
  Fail("R2", 10);  // the shard still counts R1 as served by S
  Expect("R2 <- S");
}

TEST_F(Failures, AnAncestorIsKnownToHaveWhatItsDescendantGot) {
  Line();
  Fail("R3", 10);  // nobody reported progress, but R1 must have ten blocks
  Expect("R3 <- R1");
}

TEST_F(Failures, TheReceiverThatComplainedIsKeptApartFromItsSource) {
  Join("S").Join("R1").Put("S").Get("R1");
  Ignore();
  Fail("R1", 5, Failure::kStalled);
  Expect();
  EXPECT_EQ(next_, now_ + milliseconds(1000));
  After(milliseconds(999));
  Expect();
  After(milliseconds(1));
  Expect("R1 <- S");
}

TEST_F(Failures, KeepingApartConcernsThatPairOnly) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1");
  Fail("R1", 0, Failure::kUnreachable).Get("R2");
  ExpectAmong("R2 <- S");
}

TEST_F(Failures, NotAheadBlamesNobody) {
  Join("S").Join("R1").Put("S").Get("R1");
  Ignore();
  Fail("R1", 0, Failure::kNotAhead);
  Expect("R1 <- S");
}

// The shard may have concluded what A has from a stream that never ran.
TEST_F(Failures, WhoWasNotAheadIsNotTakenForAheadAgain) {
  for (const char* node : {"S", "A", "R"}) Join(node);
  Create("S").Get("A").Get("R").Progress("A", 3).Lose("S");
  Ignore();
  Fail("R", 2, Failure::kNotAhead);
  Expect("A <- R moved");
}

// Its source is only late: a second receiver of S would halve what everybody gets.
TEST_F(Failures, WhoComesTooEarlyToASourceThatGetsBytesWaitsBehindIt) {
  for (const char* node : {"S", "R1", "R2", "R3"}) Join(node);
  Put("S").Get("R1").Progress("R1", 12).Get("R2").Progress("R2", 10).Get("R3");
  ExpectAmong("R2 <- R1");
  Fail("R2", 10, Failure::kNotAhead);
  Expect();
  Progress("R1", 20);
  Expect("R2 <- R1");
}

TEST_F(Failures, OrphansAreServedBeforeThoseThatCameEarlier) {
  for (const char* node : {"S", "T", "R1", "R2"}) Join(node);
  Put("S").Get("T").Done("T").Get("R1").Locate("R2");
  Ignore();
  JointGets().Want("R2").Lose("S").Now();
  Expect("R1 <- T moved", "R2 <- R1");
}

TEST_F(Failures, NobodyPullsFromItsDescendant) {
  Line();
  Lose("S");
  Expect("R1: lost S", "R2: lost S", "R3: lost S");
  // R2 and R3 depend on R1, and nobody else has a byte.
  EXPECT_EQ(state_->Find(object_)->waiters.size(), 1U);
  EXPECT_EQ(state_->Find(object_)->waiters[0].why,
            "its last copy, on S, was lost: a new put of it would help");
}

TEST_F(Failures, WhoLostItsMakerHearsThatItWasNeverWhole) {
  for (const char* node : {"S", "R1"}) Join(node);
  Create("S").Get("R1");
  Lose("S");
  EXPECT_EQ(
      state_->Find(object_)->waiters[0].why,
      "S, which made it, was lost or gave up before it was whole: a new put of it would help");
}

TEST_F(Failures, TheForemostReceiverTakesTheSourceOfOneBehind) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1").Progress("R1", 10).Locate("R2");
  Ignore();
  Want("R2", 40);  // it has more than R1, from an earlier attempt
  Expect("R2 <- S", "R1 <- R2 moved");
}

TEST_F(Failures, OneInTheMiddleIsPutBetween) {
  for (const char* node : {"S", "R1", "R2", "R3"}) Join(node);
  Put("S").Get("R1").Get("R2").Progress("R1", 50).Progress("R2", 10).Locate("R3");
  Ignore();
  // S is busy with R1, which is ahead; R2's source is ahead of R3, and R2 is behind it.
  Want("R3", 30);
  Expect("R3 <- R1", "R2 <- R3 moved");
}

// The producer died when R1 had every byte and lacked nothing but END (R21).
TEST_F(Failures, WhoLacksOnlyTheEndIsSentToNobodyWhoIsBehindOrDependsOnIt) {
  for (const char* node : {"S", "R1", "R2", "R3", "T"}) Join(node);
  Create("S").Get("R1").Get("R2").Locate("T").Progress("R1", 64).Progress("R2", 30).Lose("S");
  Ignore();
  Fail("R1", 64);
  Expect();  // R2 is behind it
  Progress("R2", 64);
  Expect();  // R2 is fed by it
  Fail("R2", 64, Failure::kNotAhead);
  Expect("R1 <- R2");  // one of two equals, and never both
  HeldComplete("T");
  Expect("R2 <- T");
}

TEST_F(Failures, AReplacedGrantIsClosedLaterWithoutEffect) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1");
  const GrantId first = NewestGrant("R1");
  Progress("R1", 10).Locate("R2").Want("R2", 40);
  Ignore();
  Say("R1",
      GrantClosed{object_, VersionAt("R1"), first, Outcome::kAbandoned, Failure::kNone, Marks(12)});
  Expect();
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 2U);
}

TEST_F(Failures, AStarvedReceiverMovesToAFreeCompleteSource) {
  for (const char* node : {"S", "R1", "R2", "R3"}) Join(node);
  Put("S").Get("R1").Get("R2").Get("R3").Progress("R3", 5, milliseconds(1200));
  Ignore();
  Done("R1");
  Expect("R3 <- S moved");
  EXPECT_EQ(why_, MoveReason::kStarved);
}

TEST_F(Failures, AFailureOfASupersededGrantParksNothingTwice) {
  Line();
  const GrantId old = NewestGrant("R2");
  Lose("R1");
  Expect("R2 <- S moved");
  EXPECT_EQ(why_, MoveReason::kNone);
  Say("R2",
      GrantClosed{object_, VersionAt("R2"), old, Outcome::kFailed, Failure::kBroken, Marks(3)});
  Expect();
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 2U);
}

TEST_F(Failures, ANodeThatWasDeclaredLostIsNotSentToOneThatMayStillPullFromIt) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Get("R2").Lose("S").Ignore();
  Lose("R1").Ignore();  // but only its session was gone: the stream to R2 goes on
  Connect("R1").HeldBy("R1", 0).Want("R1").EndInventory("R1");
  Expect("R1: lost S");
  Fail("R2", 0);
  Expect("R1 <- R2");
}

// Also where the books say that the other one is ahead: it goes on only as it gets bytes from there.
TEST_F(Failures, ANodeThatWasDeclaredLostIsNotSentToWhoeverGetsItsBytes) {
  Join("S").Join("R1").Join("R2").Join("R3").Put("S").Get("R1").Get("R2").Get("R3");
  Progress("R1", 9).Progress("R2", 8).Progress("R3", 7).Lose("S").Lose("R1").Ignore();
  Connect("R1").HeldBy("R1", 3).Want("R1", 3).EndInventory("R1");
  Expect("R1: lost S");
  Fail("R2", 8);
  Expect("R1 <- R3");
}

TEST_F(Failures, TwoDeathsAtOnceLeaveOneLine) {
  for (const char* node : {"S", "R1", "R2", "R3", "R4"}) Join(node);
  Put("S").Get("R1").Get("R2").Get("R3").Get("R4");
  Ignore();
  Lose("R1");
  Lose("R3");
  Expect("R2 <- S moved", "R4 <- R2 moved");
}

// As soon as it has all that R1 had for it.
TEST_F(Failures, WhoHoldsUpThoseBehindItIsPassed) {
  LittleComesToR1(1'500'000);
  Expect("R2 <- S moved");
}

TEST_F(Failures, WhoGetsMoreOfOtherObjectsIsNotPassed) {
  LittleComesToR1(32'000'000);
  Expect();
}

TEST_F(Failures, GarbageFromANodeChangesNothing) {
  Join("S").Join("R1").Put("S").Get("R1");
  Ignore();
  const Version version = VersionAt("R1");
  Say("R1", protocol::Progress{object_, version, StripeMarks{9999}});
  Say("R1", protocol::Progress{object_, version, StripeMarks{1, 2, 3}});
  Say("S", GrantClosed{object_, version, NewestGrant("R1"), Outcome::kDone});  // not its grant
  Say("R1", GrantClosed{object_, version, GrantId{{77, 77}}, Outcome::kFailed});
  Say("R1", CopyGone{ObjectId::FromName("another"), version});
  Expect();
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 1U);
}

}  // namespace
}  // namespace hoplite::planner
