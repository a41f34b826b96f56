// Receivers that can't connect to a source that lives, as a shard sees them (R68).
#include "planner/copies/blocked_pairs.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/planner/shard/reduction_scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr NodeId kReceiver{1};
constexpr NodeId kSource{2};
constexpr NodeId kThird{3};

TEST(BlockedPairs, ThePauseGrowsToFourTimesTheFirst) {
  BlockedPairs pairs;
  Time now{};
  for (const int times : {1, 2, 4, 4, 4}) {
    const Time until = pairs.Note(kReceiver, kSource, "refused", seconds(1), now);
    EXPECT_EQ(until - now, times * seconds(1));
    EXPECT_TRUE(pairs.Blocks(kReceiver, kSource, until - milliseconds(1)));
    EXPECT_FALSE(pairs.Blocks(kReceiver, kSource, until));
    EXPECT_FALSE(pairs.Blocks(kSource, kReceiver, now));  // one way only
    now = until;
  }
  pairs.Forget(kReceiver, kSource);
  EXPECT_EQ(pairs.Note(kReceiver, kSource, "refused", seconds(1), now) - now, seconds(1));
  EXPECT_EQ(pairs.Why(kReceiver, kSource), "refused");
}

TEST(BlockedPairs, ANewSessionAndTimeForgetThem) {
  BlockedPairs pairs;
  pairs.Note(kReceiver, kSource, "", seconds(1), Time{});
  pairs.ForgetAll(kSource);
  EXPECT_TRUE(pairs.empty());
  pairs.Note(kReceiver, kSource, "", seconds(1), Time{});
  pairs.Note(kThird, kSource, "", seconds(1), Time{seconds(60)});
  EXPECT_EQ(pairs.From(kReceiver, Time{}), std::set<NodeId>());
}

TEST(BlockedPairs, TheirNumberIsBounded) {
  BlockedPairs pairs;
  for (std::uint64_t node = 10; node < 6000; ++node) {
    pairs.Note(NodeId(node), kSource, "", seconds(1), Time{milliseconds(node / 100)});
  }
  EXPECT_FALSE(pairs.Blocks(NodeId(10), kSource, Time{}));
  EXPECT_TRUE(pairs.Blocks(NodeId(5999), kSource, Time{}));
}

// --- those who read

class OutOfReach : public Scenario {
 public:
  void Begin() {
    for (const char* node : {"S", "R", "T"}) Join(node);
    Put("S").Get("R");
    Ignore();
  }
  Self Refused(const std::string& node) { return Fail(node, 0, Failure::kUnreachable); }
};

TEST_F(OutOfReach, AThirdIsToldToGetACopyAndServesTheReader) {
  Begin();
  Refused("R");
  Expect("T: takes a copy v1");
  Get("T");
  Expect("T: located v1", "T <- S");
  Progress("T", 3);
  Expect("R <- T");
}

TEST_F(OutOfReach, WhoeverGetsItAlreadyIsTheThird) {
  Begin();
  Get("T");
  Ignore();
  Refused("R");
  ExpectNotAmong("T: takes a copy v1");
}

// R was moved behind T, and so is nobody whom T could wait for.
TEST_F(OutOfReach, WhoGetsItFromTheReaderIsNoSource) {
  joint_ = true;
  layout_ = Layout::For(64 << 20, 1);
  for (const char* node : {"S", "T", "R", "U"}) Join(node);
  Put("S").Get("R").After(milliseconds(5)).Ignore();
  Get("T");
  ExpectAmong("R <- T moved");
  Refused("T");
  Expect("U: takes a copy v1");
}

TEST_F(OutOfReach, TheHolderIsTriedAgainAfterAPauseAndThenAnotherThirdIsAsked) {
  Begin();
  Join("U");
  Refused("R");
  Expect("U: takes a copy v1");
  Pass(milliseconds(999));
  Expect();
  Pass(milliseconds(1));
  Expect("R <- S");
  Refused("R");
  Expect("T: takes a copy v1");
  Pass(milliseconds(1999));
  Expect();
  Pass(milliseconds(1));
  Expect("R <- S");
  Done("R");
  Get("T");
  ExpectNotAmong("T <- R");
}

// It gives up by itself. Two that can't reach the holder would be each other's thirds for ever.
TEST_F(OutOfReach, AThirdThatCannotReachTheHolderEitherIsNotHelped) {
  Begin();
  Join("U");
  Refused("R");
  Expect("U: takes a copy v1");
  CancelWant("R").Ignore();
  Get("U").Ignore();
  Refused("U");
  ExpectNotAmong("T: takes a copy v1");
  After(seconds(13)).Ignore();
  Refused("U");
  ExpectAmong("T: takes a copy v1");
}

// It reads for itself what is put under the same id later.
TEST_F(OutOfReach, AThirdIsHelpedToAnotherVersion) {
  Begin();
  Join("U");
  Refused("R");
  Expect("U: takes a copy v1");
  CancelWant("R").Gone("S").Put("S").Ignore();
  Get("U").Ignore();
  Refused("U");
  ExpectAmong("T: takes a copy v2");
}

TEST_F(OutOfReach, AReaderThatComesLaterIsHelpedAtOnce) {
  Begin();
  Refused("R").CancelWant("R").Ignore();
  Get("R");
  Expect("R: located v1", "T: takes a copy v1");
}

// Else a receiver that is moved from source to source comes back to this one again and again.
TEST_F(OutOfReach, AStreamThatWasStoppedBeforeItConnectedSaysSo) {
  Begin();
  Say("R", GrantClosed{object_, VersionAt("R"), GrantId{{1, 999}}, Outcome::kAbandoned,
                       Failure::kUnreachable, Marks(0), Id("S")});
  CancelWant("R").Ignore();
  Get("R");
  Expect("R: located v1", "T: takes a copy v1");
}

TEST_F(OutOfReach, WithoutAThirdItWaitsForTheHolder) {
  Join("S").Join("R").Put("S").Get("R");
  Ignore();
  Refused("R");
  Expect();
  Pass(seconds(1));
  Expect("R <- S");
}

TEST_F(OutOfReach, AWaiterIsShownWithTheHolderThatItCannotReach) {
  Join("S").Join("R").Put("S").Get("R").Ignore();
  Refused("R");
  EXPECT_THAT(state_->Find(object_)->waiters.at(0).why,
              HasSubstr("it can't connect from R at R:1 to S at S:1"));
}

TEST_F(OutOfReach, AHolderWithoutSessionIsGoneNotOutOfReach) {
  Begin();
  Suspend("S");
  Refused("R");
  Expect();
}

TEST_F(OutOfReach, ANewSessionOfTheHolderIsTriedAnew) {
  Begin();
  Refused("R").Ignore();
  Suspend("S").Connect("S").HeldComplete("S").EndInventory("S").Ignore();
  Refused("R");
  Pass(seconds(1));
  ExpectAmong("R <- S");
}

// --- reductions: B, the root, folds what A and D make

class SlotOutOfReach : public Reductions {
 public:
  Self Refused(std::uint32_t child) {
    Say("B", SlotFailed{object_, 2, SlotAt("B", 2), child, FeedAt("B", 2, child),
                        ErrorCode::kUnavailable, "A: cannot connect to A:1: refused"});
    return *this;
  }
};

TEST_F(SlotOutOfReach, TheCoordinatorHearsWhoCannotReachWhomAndWhy) {
  Tree();
  Refused(1);
  Expect("C: lost slot 1");
  EXPECT_THAT(last_message_, HasSubstr("B at B:"));
  EXPECT_THAT(last_message_, HasSubstr("from A: cannot connect to A:1: refused"));
}

// A reader says it without words.
TEST_F(SlotOutOfReach, WhatAReaderHasMetIsToldWithBothAddresses) {
  Join("C").Join("A").Join("B").Join("D");
  const ObjectId target = std::exchange(object_, ObjectId::FromName("another"));
  Put("A").Get("B").Ignore();
  Fail("B", 0, Failure::kUnreachable).Ignore();
  object_ = target;
  Open("C").Shape().LeafOf2(1, "A").Root("B");
  ExpectAmong("C: lost slot 1");
  EXPECT_THAT(last_message_, HasSubstr("B at B:"));
  EXPECT_THAT(last_message_, HasSubstr("from A: cannot connect to A:"));
}

// The pair is one, whatever the stream was for.
TEST_F(SlotOutOfReach, WhoCannotFoldFromANodeIsNotSentThereToRead) {
  Tree();
  Refused(1).Ignore();
  object_ = ObjectId::FromName("another");
  Put("A").Ignore();
  Get("B");
  ExpectNotAmong("B <- A");
  After(seconds(1));
  ExpectAmong("B <- A");
}

TEST_F(SlotOutOfReach, APlanWithTheSameNeighboursIsLostAtOnceUntilThePauseIsOver) {
  Tree();
  Refused(1).Ignore();
  LeafOf2(1, "A");
  ExpectAmong("C: lost slot 1");
  After(seconds(1)).Ignore();
  LeafOf2(1, "A");
  ExpectNotAmong("C: lost slot 1");
}

TEST_F(SlotOutOfReach, AfterWhatWasDrainedThePauseIsTheFirstAgain) {
  for (const bool drained : {true, false}) {
    Restart(New());
    Tree();
    Refused(1).Ignore();
    After(seconds(1)).Ignore();
    LeafOf2(1, "A").Ignore();
    if (drained) Drained("B", 2, 1);
    Refused(1).Ignore();
    After(seconds(1)).Ignore();
    LeafOf2(1, "A");
    drained ? ExpectNotAmong("C: lost slot 1") : ExpectAmong("C: lost slot 1");
    Ignore();
  }
}

TEST_F(SlotOutOfReach, ASlotWhoseNodeHasNoSessionIsLostAsEver) {
  Tree();
  Suspend("A");
  Refused(1);
  Expect("C: lost slot 1");
  EXPECT_EQ(last_message_, "A: cannot connect to A:1: refused");
  Connect("A").EndInventory("A").Ignore();
  LeafOf2(1, "A");
  ExpectNotAmong("C: lost slot 1");
}

TEST_F(SlotOutOfReach, OfATreeThatEveryoneReadsEachParticipantIsToldToTakeACopy) {
  Join("C").Join("A").Join("B").Join("D");
  Open("C");
  Say("C", ReduceShape{object_, request_, layout_, Fold{}, "", true});
  LeafOf2(1, "A").Root("B").LeafOf2(3, "D").Ignore();
  Get("D").Ignore();
  Commit("B");
  ExpectAmong("A: takes a copy v2");
}

}  // namespace
}  // namespace hoplite::planner
