// When a reduction is by stripes, what replaces a lost part of its ring, and when it becomes a tree.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/reduce_cost.h"
#include "reduce_planning.h"
#include "sound_plan.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// 16 MiB take 13.4 ms, a hop 113 µs.
class ReduceRing : public ReducePlanning {
 public:
  ReduceRing() {
    options_.everyone_reads = true;
    layout_ = Layout::For(16 << 20, 6);
  }
  void Everyone(int sources) {
    for (int i = 1; i <= sources; ++i) Arrive(i);
  }
  void WaitForRing() { now_ += milliseconds(1); }
  std::string Shape() const { return planner_->Describe(); }
  void Sound() const { EXPECT_EQ(WrongWith(orders_, layout_), ""); }
  void LoseMemory(int node) { Lose(SlotOn(node), ErrorCode::kResourceExhausted); }
  // Those that say so a moment later are heard first.
  std::vector<std::string> PlanWithoutThem() {
    EXPECT_THAT(Plan(), IsEmpty());
    now_ = next_;
    return Plan();
  }
  // The last of so many members and one has no memory. `sources` may be more than those.
  void RingWithLeaf(int members, int sources) {
    Start(sources, members + 1);
    Everyone(members + 1);
    Plan();
    LoseMemory(members + 1);
    PlanWithoutThem();
    ASSERT_EQ(Shape(), "a ring, members: " + std::to_string(members) + ", leaves: 1");
  }
  std::uint32_t SlotOn(int node) const {
    for (const auto& [slot, order] : orders_) {
      if (order.node == NodeId(node)) return slot;
    }
    return 0;
  }
};

TEST_F(ReduceRing, ThePlanOfThreeIsSaidAsOne) {
  Start(3);
  Everyone(3);
  EXPECT_THAT(Plan(), ElementsAre("shape 16777216", "as one",  //
                                  "1^2,5+1 @1 /2345 s1",       //
                                  "2^3,6+1 @2 /0145 s2",       //
                                  "3^1,4+1 @3 /0123 s3",       //
                                  "4^0+1 @1 /01 s1",           //
                                  "5^0+1 @2 /23 s2",           //
                                  "6^0+1 @3 /45 s3"));
  EXPECT_EQ(next_, kNever);
  EXPECT_EQ(Shape(), "a ring, members: 3, leaves: 0");
  EXPECT_THAT(Plan(), IsEmpty());
}

TEST_F(ReduceRing, MembersStandByDistanceFromTheCoordinatorItselfLast) {
  Start(3);
  Tell(1, 1000);
  Tell(2, 7);
  Tell(3, 1001);
  EXPECT_THAT(Plan(), ElementsAre("shape 16777216", "as one", "1^2,5+1 @1001 /2345 s3",
                                  "2^3,6+1 @7 /0145 s2", "3^1,4+1 @self /0123 s1",
                                  "4^0+1 @1001 /01 s3", "5^0+1 @7 /23 s2", "6^0+1 @self /45 s1"));
}

TEST_F(ReduceRing, SourcesOfOneNodeAreOneMembers) {
  Start(5);
  for (int i = 1; i <= 5; ++i) Tell(i, i % 2 + 1);
  EXPECT_THAT(Plan(), ElementsAre("shape 16777216", "as one", "1^4+0 @1 /345 s2 s4",
                                  "2^3+0 @2 /012 s1 s3 s5", "3^0+1 @1 /012 s2 s4",
                                  "4^0+1 @2 /345 s1 s3 s5"));
}

// --- when it is none

TEST_F(ReduceRing, WhoeverSaysHowTheTreeLooksGetsIt) {
  const auto plan = [&](auto change) {
    Forget();
    options_.everyone_reads = true;
    change(options_);
    Start(3);
    Everyone(3);
    Plan();
    return Shape();
  };
  EXPECT_EQ(plan([](ReduceOptions&) {}), "a ring, members: 3, leaves: 0");
  EXPECT_EQ(plan([](ReduceOptions& o) { o.everyone_reads = false; }), "a tree, slots: 3");
  EXPECT_EQ(plan([](ReduceOptions& o) { o.fixed_order = true; }), "a tree, slots: 3");
  EXPECT_EQ(plan([](ReduceOptions& o) { o.degree = 1; }), "a tree, slots: 3");
  EXPECT_EQ(plan([](ReduceOptions& o) { o.root_here = true; }), "a tree, slots: 4");
}

TEST_F(ReduceRing, ASmallShareIsATree) {
  layout_ = Layout::For(256 << 10, 6);  // 210 µs, three shares of 70
  Start(3);
  Everyone(3);
  EXPECT_THAT(Plan(), Contains("1^2+0 @1 s1"));
}

TEST_F(ReduceRing, OneStripeIsATree) {
  layout_ = Layout::For(16 << 20, 1);
  Start(3);
  Arrive(1);
  Batch();  // nor is it waited for
  EXPECT_THAT(Plan(), ElementsAre("shape 16777216", "1^2+0 @1 s1"));
}

TEST_F(ReduceRing, WhileASourceIsLateItIsATree) {
  Start(5);
  Everyone(4);
  WaitForRing();
  EXPECT_THAT(Plan(), ElementsAre("shape 16777216", "1^2+0 @1 s1", "2^3+1 @2 s2", "3^4+1 @3 s3",
                                  "4^5+1 @4 s4"));
  EXPECT_THAT(planner_->Missing(), HasSubstr("1 of 5 sources are missing"));
  Arrive(5);
  EXPECT_THAT(Plan(), ElementsAre("5^0+1 @5 s5"));
  EXPECT_EQ(Shape(), "a tree, slots: 5");
}

// --- the first wait

TEST_F(ReduceRing, ItWaitsForSourcesUntilAllAreThere) {
  Start(3);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, kNever);
  Arrive(1);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, now_ + RingWaitsFor(layout_, link_).from_last);
  now_ += microseconds(500);
  Arrive(2);
  EXPECT_THAT(Plan(), IsEmpty());
  Arrive(3);
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 3, leaves: 0");
}

TEST_F(ReduceRing, ItWaitsLongerAsLongAsTheyComeButNotForEver) {
  Start(8);
  const RingWaits waits = RingWaitsFor(layout_, link_);  // 671 µs, 2.01 ms
  Arrive(1);
  const Time first = now_;
  for (int i = 2; i <= 5; ++i) {
    now_ += microseconds(400);
    Arrive(i);
    EXPECT_THAT(Plan(), IsEmpty());
    EXPECT_EQ(next_, std::min(now_ + waits.from_last, first + waits.from_first));
  }
  Tell(5, 50);  // another holder is no other source
  Plan();
  EXPECT_EQ(next_, first + waits.from_first);
  now_ = next_ - microseconds(1);
  for (int i = 6; i <= 8; ++i) Arrive(i);
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 8, leaves: 0");
}

// The first reduction of a cluster: 16 MiB are believed to take 13 ms, and may take a second.
TEST_F(ReduceRing, ItWaitsAsOnASlowLinkWhileItsRateIsAGuess) {
  link_.guessed = true;
  Start(8);
  for (int i = 1; i <= 8; ++i) {
    Arrive(i);
    if (i == 8) break;
    EXPECT_THAT(Plan(), IsEmpty());
    now_ += milliseconds(8);
  }
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 8, leaves: 0");
}

TEST_F(ReduceRing, WhoDiesInTheWaitIsNoMember) {
  Start(4, 3);
  Arrive(1);
  Arrive(2);
  planner_->OnHolderGone(Source(1), NodeId(1));
  planner_->OnDeleted(Source(2));
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, kNever);  // nothing is there
  Arrive(3);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, now_ + RingWaitsFor(layout_, link_).from_last);
  Arrive(4);
  Tell(1, 7);
  EXPECT_THAT(Plan(), Contains("3^1,4+1 @7 /0123 s1"));
}

// --- leaves

TEST_F(ReduceRing, ALostLeafIsVacatedAndTakenByTheNextSource) {
  RingWithLeaf(3, 5);
  Lose(7);
  EXPECT_THAT(Plan(), ElementsAre("7^4,5,6+0 vacant"));
  EXPECT_EQ(next_, now_ + seconds(1));
  Arrive(5);
  EXPECT_THAT(Plan(), ElementsAre("7^4,5,6+0 @5 s5"));
  Sound();
}

// Its node is there, but some root can't reach it: each time all roots have started again.
TEST_F(ReduceRing, ALeafThatIsLostAgainAndAgainMakesItATree) {
  RingWithLeaf(4, 5);
  for (int losses = 1; losses < 3; ++losses) {
    Lose(9);
    EXPECT_THAT(Plan(), ElementsAre("9^5,6,7,8+0 vacant"));
    now_ = next_;
    EXPECT_THAT(Plan(), ElementsAre("9^5,6,7,8+0 @5 s5"));
  }
  Lose(9);
  WaitForRing();
  Plan();
  EXPECT_EQ(Shape(), "a tree, slots: 5");
  EXPECT_EQ(SourcesIn(orders_), 4U);
  now_ += seconds(1);
  Plan();
  EXPECT_EQ(SourcesIn(orders_), 5U);
  Sound();
}

// It has nothing to fold; if its node says so all the same, it is not asked again at once.
TEST_F(ReduceRing, ALeafWithoutMemoryIsSuspect) {
  RingWithLeaf(3, 4);
  Lose(7, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("7^4,5,6+0 vacant"));
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("7^4,5,6+0 @4 s4"));
}

// --- members that are lost

TEST_F(ReduceRing, ALostMemberIsReplacedByASpareInAPlanThatIsNew) {
  for (const std::uint32_t slot : {2U, 5U}) {  // its ring slot, its root
    Forget();
    options_.everyone_reads = true;
    Start(4, 3);
    Everyone(4);
    Plan();
    Lose(slot);
    EXPECT_THAT(Plan(), ElementsAre("as one", "1^2,5+1 @1 /2345 s1", "2^3,6+1 @3 /0145 s3",
                                    "3^1,4+1 @4 /0123 s4", "4^0+1 @1 /01 s1", "5^0+1 @3 /23 s3",
                                    "6^0+1 @4 /45 s4"));
    Sound();
  }
}

TEST_F(ReduceRing, WithoutASpareItIsATreeThatTheLostSourceJoins) {
  Start(4);
  Everyone(4);
  Plan();
  Lose(SlotOn(2));
  EXPECT_THAT(Plan(), IsEmpty());  // it may come back
  now_ = next_;
  EXPECT_THAT(Plan(),
              ElementsAre("as one", "1^2+0 @1 s1", "2^3+1 @3 s3", "3^4+1 @4 s4", "4^0+1 vacant"));
  EXPECT_EQ(SourcesIn(orders_), 3U);
  Sound();
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 @2 s2"));
  Sound();
}

TEST_F(ReduceRing, AllThatIsReportedOfAPlanCountsBeforeTheNext) {
  Start(8, 5);
  Everyone(8);
  Plan();
  Lose(SlotOn(2));
  Lose(SlotOn(4));
  Lose(SlotOn(2));
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 5, leaves: 0");
  EXPECT_EQ(SlotOn(2) + SlotOn(4), 0U);
  Sound();
}

TEST_F(ReduceRing, ALossOfAnEarlierPlanChangesNothing) {
  Start(5, 3);
  Everyone(5);
  Plan();
  const std::map<std::uint32_t, std::uint64_t> before = attempts_;
  Lose(1);
  Plan();
  for (const auto& [slot, attempt] : before) {
    planner_->OnSlotLost({options_.target, 7, attempt, slot, ErrorCode::kPeerLost, ""}, now_);
  }
  EXPECT_THAT(Plan(), IsEmpty());
}

// Too little is left for a ring: after the wait for more a tree, all at once, whose root is said
// though nobody executes it, so that nothing of the ring's target is left.
TEST_F(ReduceRing, WhatIsTooSmallForARingIsATreeFromThenOn) {
  Start(3);
  Everyone(3);
  Plan();
  Lose(1, ErrorCode::kNotFound);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, now_ + RingWaitsFor(layout_, link_).from_last);
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("as one", "1^2+0 @2 s2", "2^3+1 @3 s3", "3^0+1 vacant"));
  EXPECT_EQ(Shape(), "a tree, slots: 3");
  Arrive(1);
  EXPECT_THAT(Plan(), ElementsAre("3^0+1 @1 s1"));
  Lose(1);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 vacant"));
  Arrive(2);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 @2 s2"));
}

TEST_F(ReduceRing, WhatComesInTheWaitMakesARingAgain) {
  Start(3);
  Everyone(3);
  Plan();
  Lose(1, ErrorCode::kNotFound);
  EXPECT_THAT(Plan(), IsEmpty());
  Tell(1, 9);
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 3, leaves: 0");
}

TEST_F(ReduceRing, WhenNothingIsLeftItWaitsForTheFirstSuspicionToEnd) {
  Start(2);
  Everyone(2);
  Plan();
  Lose(SlotOn(1));
  Lose(SlotOn(2));
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(Shape(), "no plan");
  EXPECT_EQ(next_, now_ + seconds(1));
  now_ = next_;
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 2, leaves: 0");
}

TEST_F(ReduceRing, ASourceThatWasDeletedInTheMiddleIsMissedWhenItsPlanEnds) {
  Start(4, 3);
  Everyone(3);
  Plan();
  planner_->OnDeleted(Source(2));
  EXPECT_FALSE(planner_->failure());  // it is pinned
  EXPECT_THAT(Plan(), IsEmpty());
  planner_->OnDeleted(Source(4));
  EXPECT_FALSE(planner_->failure());
  Lose(SlotOn(1));
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kDeleted);
  EXPECT_THAT(planner_->failure()->message,
              HasSubstr(Source(2).ToHex() + ", a source, was deleted: 2 of 4 sources are left"));
  EXPECT_THAT(Plan(), IsEmpty());
}

// If it was told which one is gone, the others of its node need not be left alone for a while, in
// which they would be late.
TEST_F(ReduceRing, ADeletedSourceDoesNotTakeItsNeighboursAlong) {
  Start(7, 6);
  for (int i = 1; i <= 6; ++i) Tell(i, i % 3 + 1);
  Plan();
  planner_->OnDeleted(Source(2));
  Lose(SlotOn(3), ErrorCode::kDeleted);
  Arrive(7);
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 4, leaves: 0");
  EXPECT_EQ(SourcesIn(orders_), 6U);
  Sound();
}

TEST_F(ReduceRing, ErrorsThatNobodyCanRepairEndIt) {
  Start(3);
  Everyone(3);
  Plan();
  Lose(4, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(planner_->failure());
  EXPECT_EQ(planner_->failure()->code, ErrorCode::kInvalidArgument);
}

// What fails with every plan at once is a tree in the end, however often its sources are told anew.
TEST_F(ReduceRing, RingAfterRingIsLostUntilItIsATree) {
  Start(3);
  Everyone(3);
  Plan();
  int rings = 1;
  for (; Shape() != "a tree, slots: 3" && rings < 1000; ++rings) {
    const int node = 1 + rings % 3;
    Lose(SlotOn(node));
    Tell(node, node);
    Plan();
    WaitForRing();
    Plan();
  }
  EXPECT_EQ(rings, 65);
  EXPECT_EQ(SourcesIn(orders_), 3U);
  Sound();
}

// --- nodes without memory

TEST_F(ReduceRing, WhoHasNoMemoryIsALeaf) {
  Start(4);
  Everyone(4);
  Plan();
  LoseMemory(3);
  EXPECT_THAT(PlanWithoutThem(), Contains("7^4,5,6+0 @3 s3"));
  EXPECT_EQ(Shape(), "a ring, members: 3, leaves: 1");
  Sound();
  EXPECT_EQ(SourcesIn(orders_), 4U);
}

// Each of them waits for two seconds before it says so: they wait together, not one after the other.
TEST_F(ReduceRing, WhoHaveNoMemoryAreHeardBeforeTheNextPlan) {
  Start(10);
  Everyone(10);
  Plan();
  LoseMemory(3);
  EXPECT_THAT(Plan(), IsEmpty());
  const Time due = next_;
  now_ = due - microseconds(1);
  LoseMemory(7);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, due);
  now_ = due;
  Plan();
  EXPECT_EQ(Shape(), "a ring, members: 8, leaves: 2");
  Sound();
}

TEST_F(ReduceRing, ASourceMovesToAMemberRatherThanBeALeaf) {
  Start(4);
  Everyone(4);
  Tell(3, 2);
  Plan();
  LoseMemory(4);
  Tell(4, 1);
  PlanWithoutThem();
  EXPECT_EQ(SlotOn(4), 0U);
  EXPECT_EQ(SourcesIn(orders_), 4U);
  Sound();
}

TEST_F(ReduceRing, InTheTreeThatFollowsThePlaceOfALateSourceIsKeptForIt) {
  Start(4);
  Everyone(4);
  Plan();
  Lose(SlotOn(4));
  Plan();
  now_ = next_;
  Plan();
  LoseMemory(2);
  EXPECT_THAT(Plan(), ElementsAre("2^3+2 @self", "5^2+0 @2 s2"));
  Arrive(4);
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 @4 s4"));
}

// A tree asks less of a node than a ring, so each is asked again.
TEST_F(ReduceRing, WhereNobodyHasMemoryForARingATreeIsTried) {
  Start(4);
  Everyone(4);
  Plan();
  for (int node = 1; node <= 4; ++node) LoseMemory(node);
  EXPECT_FALSE(planner_->failure());
  EXPECT_THAT(PlanWithoutThem(),
              ElementsAre("as one", "1^2+0 @1 s1", "2^3+1 @2 s2", "3^4+1 @3 s3", "4^0+1 @4 s4"));
  Lose(2, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Plan(), ElementsAre("2^3+2 @self", "5^2+0 @2 s2"));
}

// --- repeated

TEST_F(ReduceRing, OrdersAreRepeatedAsTheyWere) {
  RingWithLeaf(3, 5);
  Lose(7);
  Plan();
  Arrive(5);
  Plan();
  const std::vector<NodeEvent> orders = planner_->Orders();
  ASSERT_THAT(orders, SizeIs(1 + 1 + 1));
  EXPECT_EQ(std::get<ReduceShape>(orders[0]).layout, layout_);
  const auto& plan = std::get<ReduceOrders>(orders[1]);
  ASSERT_THAT(plan.orders, SizeIs(7));
  EXPECT_LT(plan.attempt, plan.orders.front().attempt);
  for (std::size_t i = 0; i < 7; ++i) {
    const PlannedOrder& planned = plan.orders[i];
    EXPECT_EQ(planned.order, orders_[planned.order.slot]);  // with the leaf that came later
    EXPECT_EQ(planned.attempt, attempts_[planned.order.slot]);
  }
  // A shard that knows the plan already may have missed what came later, which it takes alone.
  const auto& leaf = std::get<SlotAssign>(orders[2]);
  EXPECT_EQ(leaf.order, orders_[7]);
  EXPECT_EQ(leaf.attempt, attempts_[7]);
}

TEST_F(ReduceRing, OfALostPlanNothingIsRepeated) {
  Start(2);
  Everyone(2);
  Plan();
  Lose(1, ErrorCode::kNotFound);
  const std::vector<NodeEvent> orders = planner_->Orders();
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<ReduceShape>(orders[0]));
}

}  // namespace
}  // namespace hoplite::planner
