// When a reduction is by stripes, what it waits for, and what is repeated.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/reduce/reduce_cost.h"
#include "reduce_ring_planning.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  EXPECT_EQ(Shape(), "a ring, nodes: 3");
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
  EXPECT_EQ(plan([](ReduceOptions&) {}), "a ring, nodes: 3");
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
  EXPECT_EQ(Shape(), "a ring, nodes: 3");
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
  EXPECT_EQ(Shape(), "a ring, nodes: 8");
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
  EXPECT_EQ(Shape(), "a ring, nodes: 8");
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

// --- repeated

void ExpectRepeated(const ReduceOrders& plan, std::map<std::uint32_t, SlotOrder> orders,
                    std::map<std::uint32_t, std::uint64_t> attempts) {
  ASSERT_THAT(plan.orders, SizeIs(orders.size()));
  EXPECT_LT(plan.plan, plan.orders.front().attempt);
  for (const PlannedOrder& planned : plan.orders) {
    EXPECT_EQ(planned.order, orders[planned.order.slot]);
    EXPECT_EQ(planned.attempt, attempts[planned.order.slot]);
  }
}

TEST_F(ReduceRing, OrdersAreRepeatedAsTheyWere) {
  Start(4);
  Everyone(4);
  Plan();
  const std::vector<NodeEvent> orders = planner_->Orders();
  ASSERT_THAT(orders, SizeIs(1 + 1));
  EXPECT_EQ(std::get<ReduceShape>(orders[0]).layout, layout_);
  ExpectRepeated(std::get<ReduceOrders>(orders[1]), orders_, attempts_);
}

// A shard that knows the plan already may have missed what came later, which it takes alone.
TEST_F(ReduceRing, OrdersOfTheTreeThatFollowsAreRepeatedAndThoseAfterItOnceMoreAlone) {
  Start(4);
  Everyone(4);
  Plan();
  Lose(SlotOn(2));
  Plan();
  now_ = next_;
  Plan();  // a tree, as one
  now_ = next_;
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 @2 s2"));
  const std::vector<NodeEvent> orders = planner_->Orders();
  ASSERT_THAT(orders, SizeIs(1 + 1 + 1));
  ExpectRepeated(std::get<ReduceOrders>(orders[1]), orders_, attempts_);
  const auto& late = std::get<ReduceOrders>(orders[2]);
  EXPECT_EQ(late.plan, 0U);
  EXPECT_THAT(late.orders, ElementsAre(PlannedOrder{attempts_[4], orders_[4]}));
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
