// Who asks together is granted in ring order, whoever came first; and what that costs.
#include <set>
#include <string>
#include <utility>

#include "planner/copies/broadcast_cost.h"
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;

// Members in ring order: A, S, B, C, D. S puts what takes half a second over one link.
class Ring : public Scenario {
 protected:
  Ring() {
    layout_ = Layout::For(64 << 20, 1);
    joint_ = true;
    for (const char* node : {"A", "S", "B", "C", "D"}) Join(node);
    Create("S");
    for (const char* node : {"A", "B", "C", "D"}) Locate(node);
    Ignore();
  }

  // One who never asks, so that the first pass does not know that all are there.
  void AnotherJoins() { Join("X").Locate("X").Ignore(); }

  // Of an inventory: the node made the version.
  Scenario& PutBefore(const std::string& node) {
    Held put{object_, VersionAt(node), layout_, metadata_, layout_.full_marks()};
    put.complete = put.primary = true;
    return Say(node, put);
  }

  std::set<std::pair<std::string, std::string>> Fed() const {
    std::set<std::pair<std::string, std::string>> fed;
    for (const TransferView& transfer : state_->Find(object_)->transfers) {
      fed.emplace(transfer.from_name, transfer.to_name);
    }
    return fed;
  }
  using Line = std::set<std::pair<std::string, std::string>>;
  const Line whole_ = {{"S", "B"}, {"B", "C"}, {"C", "D"}, {"D", "A"}};
};

TEST_F(Ring, WhoAsksTogetherStandsByDistanceFromTheProducer) {
  JointGets();
  Want("D").Want("A").Want("C").Want("B");
  Now();
  Expect("B <- S", "C <- B", "D <- C", "A <- D");
}

TEST_F(Ring, TheFirstPassWaitsForThoseWhoComeTogether) {
  AnotherJoins();
  Want("D").After(milliseconds(2)).Want("A");
  Expect();
  EXPECT_EQ(next_, now_ + milliseconds(3));
  After(milliseconds(2)).Want("B").Want("C");
  Expect();
  After(milliseconds(1));
  Expect("B <- S", "C <- B", "D <- C", "A <- D");
}

TEST_F(Ring, NobodyWaitsWhenNobodyIsLeftToAsk) {
  Want("D").Want("A").Want("C");
  Expect();
  Want("B");
  Expect("B <- S", "C <- B", "D <- C", "A <- D");
}

// Nobody but the object's receivers is better off with an order.
TEST_F(Ring, WhereEverybodyFetchesThisObjectAloneNobodyWaitsOrMoves) {
  AnotherJoins();
  joint_ = false;
  Want("D");
  Expect("D <- S");
  After(milliseconds(1)).Want("C").Want("B");
  Expect("C <- D", "B <- C");
}

// D and C stand by arrival when the shard hears that the order matters: C takes D's source and, once
// C has said so, gives D what comes.
TEST_F(Ring, WhoStandsByArrivalComesToStandByTheRing) {
  AnotherJoins();
  joint_ = false;
  Want("D").Want("C");
  Expect("D <- S", "C <- D");
  const GrantId behind = NewestGrant("C");
  joint_ = true;
  After(milliseconds(30)).Progress("D", 2).Want("C", 1);
  Expect("C <- S moved");
  EXPECT_EQ(why_, MoveReason::kOrder);
  Progress("D", 3);
  Expect();  // D may depend on C only when C depends on D no more
  Say("C",
      GrantClosed{object_, VersionAt("C"), behind, Outcome::kAbandoned, Failure::kNone, Marks(1)});
  Expect("D <- C moved");
  Want("B");
  Expect("B <- S", "C <- B moved");
}

TEST_F(Ring, WhoHasMoreThanHalfKeepsItsPlaceByArrival) {
  AnotherJoins();
  joint_ = false;
  Want("D").Want("C").Ignore();
  joint_ = true;
  Progress("D", layout_.block_count() / 2 + 1).Want("C", 1);
  Expect();
}

TEST_F(Ring, OneWhoFetchesOthersTooIsEnough) {
  AnotherJoins();
  Want("D");
  joint_ = false;
  Want("A").Want("C");
  Expect();
  After(milliseconds(5));
  Expect("C <- S", "D <- C", "A <- D");
}

TEST_F(Ring, WhatTakesLessThanAMessageIsNotWaitedFor) {
  const LinkModel link = New().link;
  EXPECT_EQ(GatherFor(Layout::For(1 << 20), link), Duration{0});
  EXPECT_EQ(GatherFor(Layout::For(64 << 20), link), milliseconds(5));
  const Duration some = GatherFor(Layout::For(4 << 20), link);
  EXPECT_GE(some, link.latency);
  EXPECT_NEAR(ToSeconds(some), 0.02 * (4 << 20) / link.bytes_per_second, 1e-6);
}

// After a loss, and for whoever comes later, the wait is over for good.
TEST_F(Ring, AVersionIsWaitedForOnce) {
  AnotherJoins();
  Want("B").After(milliseconds(5));
  Expect("B <- S");
  Fail("B", 7);
  Expect();  // kept apart from the only source
  After(milliseconds(1000));
  Expect("B <- S");
  Want("C");
  Expect("C <- B");
}

TEST_F(Ring, AnotherVersionIsWaitedForAgain) {
  Join("T");
  AnotherJoins();
  Want("B").After(milliseconds(5)).Lose("S").Lose("B").Create("T").Locate("C").Ignore();
  Want("C");
  Expect();
  After(milliseconds(5));
  Expect("C <- T");
}

// Its predecessor made the first pass.
TEST_F(Ring, ARestartedShardDoesNotWait) {
  AnotherJoins();
  Restart(Recovering());
  for (const char* node : {"A", "S", "B", "C", "X"}) Connect(node);
  HeldComplete("S");
  for (const char* node : {"A", "S", "B", "C", "X"}) EndInventory(node);
  After(milliseconds(1000)).Ignore();
  Want("C");
  Expect("C <- S");
}

// Nobody was granted yet: who wants it says so again, and is served when the window ends, once.
TEST_F(Ring, ARestartWhileTheFirstPassWaitsIsNoSecondWait) {
  AnotherJoins();
  Want("D").After(milliseconds(2)).Want("A");
  Expect();
  Restart(Recovering());
  for (const char* node : {"A", "S", "B", "C", "D", "X"}) Connect(node);
  Want("D").Want("A");
  PutBefore("S");
  for (const char* node : {"A", "S", "B", "C", "D", "X"}) EndInventory(node);
  After(milliseconds(1000));
  Expect("D <- S", "A <- D");
  After(milliseconds(5));
  Expect();
  EXPECT_EQ(Fed(), (Line{{"S", "D"}, {"D", "A"}}));
}

// It learns who made the version from the copy that was put.
TEST_F(Ring, ARestartedShardHasTheSameOrder) {
  Restart(Recovering());
  for (const char* node : {"A", "S", "B", "C", "D"}) Connect(node);
  for (const char* node : {"D", "A", "C", "B"}) HeldBy(node, 0).EndInventory(node);
  PutBefore("S").EndInventory("S").After(milliseconds(1000)).Ignore();
  JointGets();
  Want("D").Want("A").Want("C").Want("B");
  Now();
  Expect("B <- S", "C <- B", "D <- C", "A <- D");
}

TEST_F(Ring, ANewcomerTakesTheSourceOfTheNearestBehindIt) {
  AnotherJoins();
  Want("D").Want("A").After(milliseconds(5));
  Expect("D <- S", "A <- D");
  After(milliseconds(20)).Want("C");
  Expect("C <- S", "D <- C moved");
  EXPECT_EQ(why_, MoveReason::kNewcomer);
  Want("B");
  Expect("B <- S", "C <- B moved");
  EXPECT_EQ(Fed(), whole_);
}

// D waits at C until C has more.
TEST_F(Ring, WhoHasHalfHandsOnItsPlace) {
  AnotherJoins();
  Want("D").Want("A").After(milliseconds(5)).Ignore();
  Progress("D", layout_.block_count() / 2).Want("C");
  Expect("C <- S", "D <- C moved");
}

TEST_F(Ring, WhoHasMoreThanHalfKeepsItsSource) {
  AnotherJoins();
  Want("D").Want("A").After(milliseconds(5)).Ignore();
  Progress("D", layout_.block_count() / 2 + 1).Want("C");  // of those behind C only A has less
  Expect("C <- D", "A <- C moved");
}

// C does not give D what D has, and S what C waits for: D waits.
TEST_F(Ring, WhoWasMovedForANewcomerDoesNotTakeThePlaceBack) {
  AnotherJoins();
  Want("D").Want("A").After(milliseconds(5)).Ignore();
  Progress("D", layout_.block_count() / 2).Want("C").Ignore();
  After(milliseconds(100)).Fail("D", layout_.block_count() / 2, Failure::kNotAhead);
  Expect();
  Progress("C", layout_.block_count() / 2 + 1);
  Expect("D <- C");
}

TEST_F(Ring, WhoWasGrantedLongAgoKeepsItsSource) {
  AnotherJoins();
  Want("D").Want("A").After(milliseconds(5)).Ignore();
  After(milliseconds(1000)).Want("C");
  Expect("C <- A");
}

// D has waited for C, and could be made to wait for each of C's successors.
TEST_F(Ring, WhoTookAPlaceKeepsItAsLongAsItsFormerHolderWould) {
  AnotherJoins();
  Want("D").Want("A").After(milliseconds(5)).After(milliseconds(600)).Want("C").Ignore();
  After(milliseconds(400)).Want("B");
  Expect("B <- A");
}

// Other objects use C's links, and D waits until C has as much.
TEST_F(Ring, NobodyIsTakenForASlowRelayWhilePlacesMayChange) {
  AnotherJoins();
  Complete("S").Want("D").After(milliseconds(5));
  for (int i = 1; i <= 8; ++i) After(milliseconds(50)).Progress("D", 10 * i);
  Want("C");
  Expect("D <- S", "C <- S", "D <- C moved");
  std::uint32_t had = 0;
  const auto flow = [&](int reports) {
    for (int i = 0; i < reports; ++i) After(milliseconds(50)).Progress("C", ++had);
  };
  flow(10);
  Expect();
  flow(6);
  Expect("D <- S moved", "C <- D moved");
  EXPECT_EQ(why_, MoveReason::kSlow);
}

// Of an object that takes 3 ms a receiver soon has most.
TEST_F(Ring, HowLongAgoDependsOnTheObject) {
  const LinkModel link = New().link;
  EXPECT_EQ(FreshFor(Layout::For(128 << 20), link), std::chrono::seconds(1));
  EXPECT_NEAR(ToSeconds(FreshFor(Layout::For(3 * 125'000), link)), 0.003, 1e-9);
}

// Members S, A and B; S puts what takes 34 ms over one link, if that is as fast as a shard believes
// of links that nobody has measured.
class Unmeasured : public Scenario {
 protected:
  Unmeasured() {
    layout_ = Layout::For(4 << 20);
    joint_ = true;
    for (const char* node : {"S", "A", "B"}) Join(node);
    Create("S").Locate("A").Ignore();
  }
  Duration believed() const { return GatherFor(layout_, New().link); }
};

TEST_F(Unmeasured, WhereSomebodyFetchesSeveralALinkCountsAsSlow) {
  ASSERT_LT(believed(), milliseconds(1));
  Want("A");
  EXPECT_EQ(next_, now_ + milliseconds(5));
}

TEST_F(Unmeasured, WhoFetchesOneObjectWaitsForNothing) {
  joint_ = false;
  Want("A");
  Expect("A <- S");
}

TEST_F(Unmeasured, ReportsEndIt) {
  protocol::Progress report{.object = ObjectId::FromName("another"), .version = {}};
  report.bytes_per_second = 125'000'000;
  for (int i = 0; i < 20; ++i) Say("B", report);
  Want("A");
  EXPECT_EQ(next_, now_ + believed());
}

// A place in a tree is not worth a move.
TEST_F(Scenario, WhereHoldersServeSeveralNobodyIsMoved) {
  constexpr int kReceivers = 40;
  layout_ = Layout::For(4 << 10);
  ASSERT_GT(BestDegree(kReceivers, layout_, New().link), 1U);
  Join("S").Join("First").Create("S");
  for (int i = 0; i < kReceivers; ++i)
    Join("R" + std::to_string(i)).Locate("R" + std::to_string(i));
  Locate("First").JointGets();
  for (int i = 0; i < kReceivers; ++i) Want("R" + std::to_string(i));
  Now().Ignore();
  const std::vector<TransferView> before = state_->Find(object_)->transfers;
  Want("First").Ignore();
  std::vector<TransferView> after = state_->Find(object_)->transfers;
  std::erase_if(after, [](const TransferView& transfer) { return transfer.to_name == "First"; });
  const auto names = [](const std::vector<TransferView>& transfers) {
    std::set<std::string> pairs;
    for (const TransferView& each : transfers) pairs.insert(each.from_name + each.to_name);
    return pairs;
  };
  EXPECT_EQ(names(before), names(after));
  EXPECT_EQ(state_->Find(object_)->transfers.size(), before.size() + 1);
}

}  // namespace
}  // namespace hoplite::planner
