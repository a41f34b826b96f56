// The slots of a reduction by stripes, and when it is one.
#include "planner/reduce/stripe_ring.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/reduce/reduce_cost.h"
#include "sound_plan.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;

Layout WithStripes(std::uint32_t stripes) { return Layout::For(64 << 20, stripes); }

// Members on nodes 1, 2, …, each with a source of its own.
struct FilledRing {
  FilledRing(std::uint32_t members_in, std::uint32_t stripes)
      : members(members_in), layout(WithStripes(stripes)) {
    std::vector<NodeId> nodes;
    for (std::uint32_t i = 1; i <= members; ++i) nodes.push_back(NodeId(i));
    for (SlotOrder& order : StripeRing(nodes, layout)) {
      order.inputs = {{ObjectId::FromName(std::to_string(Raw(order.node))), Version{{1, 1}}}};
      plan[order.slot] = order;
    }
  }
  std::uint32_t MemberAt(std::uint32_t slot) const {
    return static_cast<std::uint32_t>(Raw(plan.at(slot).node));
  }

  std::uint32_t members;
  Layout layout;
  SlotPlan plan;
};

// Each member sends to the next one only. With the target's own line a member has at most three
// streams in, and three out.
void ExpectNeighboursOnly(const FilledRing& ring) {
  std::map<std::uint32_t, int> in;
  std::map<std::uint32_t, int> out;
  for (const auto& [slot, order] : ring.plan) {
    for (const std::uint32_t parent : order.parents) {
      EXPECT_EQ(ring.MemberAt(parent), ring.MemberAt(slot) % ring.members + 1);
      ++out[ring.MemberAt(slot)];
      ++in[ring.MemberAt(parent)];
    }
  }
  for (const auto& streams : {in, out}) {
    for (const auto& [member, count] : streams) EXPECT_LE(count, 2) << "member " << member;
  }
}

// Roots make equally many stripes, but for one, each in one piece.
void ExpectEqualShares(const FilledRing& ring) {
  int least = 64;
  int most = 0;
  std::uint32_t roots = 0;
  for (const auto& [slot, order] : ring.plan) {
    if (!order.root()) continue;
    const int share = std::popcount(order.stripes);
    least = std::min(least, share);
    most = std::max(most, share);
    ++roots;
    EXPECT_TRUE(std::has_single_bit((order.stripes >> std::countr_zero(order.stripes)) + 1) ||
                share == 64);
  }
  EXPECT_LE(most, least + 1);
  EXPECT_EQ(roots, std::min(ring.members, ring.layout.stripe_count));
}

TEST(StripeRing, EveryStripeHasOneRootAndEachSourceOnceWhateverTheNumbers) {
  for (const std::uint32_t stripes : {2u, 16u, 64u}) {
    for (std::uint32_t members = 2; members <= 64; ++members) {
      SCOPED_TRACE(fmt::format("{} members, {} stripes", members, stripes));
      const FilledRing ring(members, stripes);
      EXPECT_EQ(WrongWith(ring.plan, ring.layout), "");
      EXPECT_EQ(SourcesIn(ring.plan), members);
      ExpectNeighboursOnly(ring);
      ExpectEqualShares(ring);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(StripeRing, ThreeMembers) {
  const std::vector<NodeId> members{NodeId(1), NodeId(2), NodeId(3)};
  EXPECT_THAT(InWords(StripeRing(members, WithStripes(6))),
              ElementsAre("1: A 2345 to 2 5, fed by 1",  //
                          "2: B 0145 to 3 6, fed by 1",  //
                          "3: C 0123 to 1 4, fed by 1",  //
                          "4: A 01 to , fed by 1",       //
                          "5: B 23 to , fed by 1",       //
                          "6: C 45 to , fed by 1"));
}

// Each stripe begins at one of two and ends at the other: no ring slot feeds another.
TEST(StripeRing, TwoMembersSendEachOtherHalf) {
  const std::vector<NodeId> members{NodeId(1), NodeId(2)};
  EXPECT_THAT(InWords(StripeRing(members, WithStripes(4))),
              ElementsAre("1: A 23 to 4, fed by 0",  //
                          "2: B 01 to 3, fed by 0",  //
                          "3: A 01 to , fed by 1",   //
                          "4: B 23 to , fed by 1"));
}

TEST(StripeRing, WithFewerStripesThanMembersSomeOnlyPassOn) {
  const std::vector<NodeId> members{NodeId(1), NodeId(2), NodeId(3)};
  EXPECT_THAT(InWords(StripeRing(members, WithStripes(2))),
              ElementsAre("1: A 01 to 2 4, fed by 1",  //
                          "2: B 1 to 5, fed by 1",     //
                          "3: C 0 to 1, fed by 0",     //
                          "4: B 0 to , fed by 1",      //
                          "5: C 1 to , fed by 1"));
}

TEST(StripeRing, TwoTo256MembersMakeOneOfTwoStripesOrMore) {
  const Layout layout = WithStripes(16);
  EXPECT_FALSE(MakesRing(0, layout));
  EXPECT_FALSE(MakesRing(1, layout));
  EXPECT_TRUE(MakesRing(2, layout));
  EXPECT_TRUE(MakesRing(256, layout));
  EXPECT_FALSE(MakesRing(257, layout));
  EXPECT_TRUE(MakesRing(4, WithStripes(2)));
  EXPECT_FALSE(MakesRing(4, WithStripes(1)));
}

// At 1 Gbit/s a hop of 16 KiB blocks is 100 + 131 µs; 1 MiB takes 8.39 ms.
TEST(RingCost, AShareHasToTakeTwoHops) {
  const LinkModel link{microseconds(90), microseconds(10), 1.25e8};
  const Layout layout = Layout::For(1 << 20, 16);
  EXPECT_TRUE(RingPays(18, layout, link));
  EXPECT_FALSE(RingPays(19, layout, link));
}

TEST(RingCost, TheFirstPlanWaitsForAShareOfTheObjectsTime) {
  LinkModel link{microseconds(90), microseconds(10), 1.25e8};
  const auto waits = [&link](std::uint64_t size) {
    const RingWaits both = RingWaitsFor(Layout::For(size), link);
    return std::pair(ToSeconds(both.from_last), ToSeconds(both.from_first));
  };
  EXPECT_THAT(waits(1000), Pair(DoubleNear(1e-4, 1e-9), DoubleNear(3e-4, 1e-9)));  // a message
  EXPECT_THAT(waits(25'000'000), Pair(DoubleNear(0.01, 1e-9), DoubleNear(0.03, 1e-9)));
  EXPECT_THAT(waits(125'000'000), Pair(DoubleNear(0.05, 1e-9), DoubleNear(0.1, 1e-9)));
  EXPECT_THAT(waits(1 << 30), Pair(DoubleNear(0.1, 1e-9), DoubleNear(0.1, 1e-9)));
  link.guessed = true;  // 100 Mbit/s then
  EXPECT_THAT(waits(2'500'000), Pair(DoubleNear(0.01, 1e-9), DoubleNear(0.03, 1e-9)));
  link.bytes_per_second = 1e6;
  EXPECT_THAT(waits(1'000'000), Pair(DoubleNear(0.05, 1e-9), DoubleNear(0.1, 1e-9)));
}

}  // namespace
}  // namespace hoplite::planner
