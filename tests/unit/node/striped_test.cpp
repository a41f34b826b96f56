// Nodes that carry out a striped reduction (R64): each member makes its stripes of the target, as a
// root, of a ring of partial sums, and reads the rest into the same copy.
#include <algorithm>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "testing/ring_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::RingByHand;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr std::uint32_t kBlock = 4096;

Layout LayoutOf(std::uint64_t size_bytes, std::uint32_t stripes, std::uint32_t run_blocks = 1) {
  return {.size_bytes = size_bytes,
          .block_bytes = kBlock,
          .run_bytes = run_blocks * kBlock,
          .stripe_count = stripes};
}

// Ten blocks, the last one short.
const Layout kUneven = LayoutOf(9 * kBlock + 1234, 4);

// Who is the root of nothing does not read the target by itself.
bool AllWhole(const RingByHand& ring, std::uint32_t members) {
  for (std::uint32_t i = 0; i < members; ++i) {
    if (ring.EndsAt(i) != 0 && !ring.IsWhole(i)) return false;
  }
  return true;
}

bool AllHaveAllBytes(const RingByHand& ring, std::uint32_t members) {
  for (std::uint32_t i = 0; i < members; ++i) {
    if (!ring.HasAllBytes(i)) return false;
  }
  return true;
}

TEST(Striped, EachMemberGetsTheSumWhateverTheSizes) {
  const Layout layouts[] = {kUneven, LayoutOf(8 * kBlock, 4),
                            LayoutOf(7 * kBlock, 8),  // a stripe without a block
                            LayoutOf(31 * kBlock + 1, 16, 2), LayoutOf(64 * kBlock - 1, 64)};
  for (const Layout& layout : layouts) {
    for (const std::uint32_t members : {2u, 3u, 5u}) {
      for (const unsigned threads : {1u, 2u}) {
        RingByHand ring({.members = members, .layout = layout, .data_threads = threads});
        ring.Plan();
        EXPECT_TRUE(ring.Until([&] { return AllWhole(ring, members); }))
            << layout.size_bytes << " bytes, " << members << " members, " << threads << " threads";
      }
    }
  }
}

TEST(Striped, SomeMembersMayBeTheRootOfNothing) {
  RingByHand ring({.members = 3, .layout = LayoutOf(9 * kBlock, 2)});
  ring.Plan();
  EXPECT_TRUE(ring.Until([&] { return ring.IsWhole(1) && ring.IsWhole(2); }));
  EXPECT_EQ(ring.TargetAt(0), nullptr);
}

// As over a real network, whose links carry one block after the other.
TEST(Striped, TheRingKeepsEveryLinkBusyBothWays) {
  const Layout layout = LayoutOf(256 * kBlock + 7, 16);
  constexpr std::uint32_t kMembers = 4;
  RingByHand ring({.members = kMembers,
                   .layout = layout,
                   .data_threads = 2,
                   .link = {.latency = 100us, .bytes_per_second = 10'000'000}});
  const Time begun = Now();
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return AllWhole(ring, kMembers); }));
  const double once = static_cast<double>(layout.size_bytes) / 10'000'000;
  EXPECT_LT(ToSeconds(Now() - begun), 1.2 * 2 * (kMembers - 1) / kMembers * once);
}

TEST(Striped, NobodyIsWholeBeforeTheCommitAndAllBytesAreSaidAtOnce) {
  RingByHand ring({.members = 3, .layout = kUneven, .commits = false});
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return ring.all_asked() && AllHaveAllBytes(ring, 3); }));
  ring.Pass(100ms);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ring.TargetAt(i)->state(), store::CopyState::kOpen);
    EXPECT_THAT(ring.Said<protocol::CopyComplete>(i), IsEmpty());
    const auto full =
        std::ranges::count_if(ring.Said<protocol::Progress>(i),
                              [&](const auto& said) { return ring.layout().complete(said.marks); });
    EXPECT_EQ(full, 1);
  }
  ring.Commit();
  EXPECT_TRUE(ring.Until([&] { return AllWhole(ring, 3); }));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ring.Said<protocol::CopyComplete>(i).size(), 1u);
    EXPECT_THAT(ring.Said<protocol::CopyGone>(i), IsEmpty());
  }
}

TEST(Striped, ACallThatWaitsSinceBeforeGetsTheTarget) {
  RingByHand ring({.members = 3, .layout = kUneven});
  const auto before = ring.Get(1);
  EXPECT_EQ(ring.Said<protocol::Locate>(1).size(), 1u);
  ring.Plan();
  const auto meanwhile = ring.Get(2);
  ASSERT_TRUE(ring.Until([&] { return before->has_value() && meanwhile->has_value(); }));
  EXPECT_EQ(before->value().value(), ring.TargetAt(1));
  EXPECT_EQ(meanwhile->value().value(), ring.TargetAt(2));
  EXPECT_EQ(ring.Said<protocol::CancelLocate>(1).size(), 1u);
  EXPECT_TRUE(AllWhole(ring, 3));
}

TEST(Striped, AnotherPlanBeginsAnewAndItsNodesReadItsVersion) {
  RingByHand ring({.members = 3, .layout = kUneven, .commits = false});
  const auto waits = ring.Get(0);
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return AllHaveAllBytes(ring, 3); }));
  const store::CopyPtr older = ring.TargetAt(0);
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return AllHaveAllBytes(ring, 3) && ring.all_asked(); }));
  EXPECT_EQ(older->void_reason(), store::VoidReason::kRecalled);
  EXPECT_NE(ring.TargetAt(0), older);
  EXPECT_FALSE(waits->has_value());
  ring.Commit();
  EXPECT_TRUE(ring.Until([&] { return AllWhole(ring, 3) && waits->has_value(); }));
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_THAT(ring.Said<protocol::CopyGone>(i), IsEmpty());
}

TEST(Striped, AnotherPlanInTheMiddleOfEverything) {
  const Layout layout = LayoutOf(256 * kBlock + 7, 16);
  const net::LinkOptions link{.latency = 100us, .bytes_per_second = 10'000'000};
  for (const Duration after : {1ms, 20ms, 60ms, 100ms, 140ms}) {
    RingByHand ring({.members = 3, .layout = layout, .data_threads = 2, .link = link});
    ring.Plan();
    ring.Pass(after);
    ring.Plan();
    EXPECT_TRUE(ring.Until([&] { return AllWhole(ring, 3); })) << ToSeconds(after);
  }
}

// A child whose stream breaks twice before another block was folded is lost, and the shard of this
// ring orders nothing anew: so each stream has time for many blocks.
TEST(Striped, StreamsThatBreakGoOnWhereTheyWere) {
  const Layout layout = LayoutOf(2048 * kBlock + 7, 16);
  const net::LinkOptions link{.latency = 100us, .bytes_per_second = 10'000'000};
  RingByHand ring({.members = 3, .layout = layout, .data_threads = 2, .link = link});
  ring.Plan();
  std::uint32_t broken = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ring.Pass(110ms);
    if (ring.Break(i * 7)) ++broken;
  }
  EXPECT_GT(broken, 5u);
  EXPECT_TRUE(ring.Until([&] { return AllWhole(ring, 3); }));
}

TEST(Striped, AShardThatHadLostAMemberIsAskedOnceMoreForTheRest) {
  const Layout layout = LayoutOf(256 * kBlock, 16);
  const net::LinkOptions link{.latency = 100us, .bytes_per_second = 10'000'000};
  RingByHand ring({.members = 3, .layout = layout, .link = link});
  ring.Plan();
  ring.Pass(60ms);
  ring.LoseSession(1);
  EXPECT_TRUE(ring.Until([&] { return AllWhole(ring, 3); }));
  EXPECT_EQ(ring.Said<protocol::Want>(1).size(), 2u);
}

// The shard commits when one member has all bytes; END of that one may be faster than the shard.
TEST(Striped, EndIsAsGoodAsTheWordOfTheCommit) {
  RingByHand ring({.members = 3, .layout = kUneven, .commits = false});
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return ring.all_asked() && AllHaveAllBytes(ring, 3); }));
  ring.Hear(
      0, protocol::ReduceCommitted{.object = ring.target(), .version = ring.version(), .used = {}});
  ASSERT_TRUE(ring.Until([&] { return AllWhole(ring, 3); }));
  for (std::uint32_t i = 0; i < 3; ++i) ring.DropSlots(i);
  ring.Pass(2s);
  EXPECT_TRUE(AllWhole(ring, 3)) << "what is whole stays";
}

TEST(Striped, AMemberGoesOnAfterTheCommitUntilItIsWhole) {
  const Layout layout = LayoutOf(256 * kBlock, 16);
  RingByHand ring({.members = 3,
                   .layout = layout,
                   .link = {.latency = 100us, .bytes_per_second = 10'000'000},
                   .commits = false});
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return ring.all_asked(); }));
  EXPECT_FALSE(AllHaveAllBytes(ring, 3));
  ring.Commit();
  for (std::uint32_t i = 0; i < 3; ++i) ring.DropSlots(i);
  const auto late = ring.Get(0);
  EXPECT_TRUE(ring.Until([&] { return AllWhole(ring, 3) && late->has_value(); }));
  EXPECT_THAT(ring.Said<protocol::Locate>(0), IsEmpty()) << "it joins what is under way";
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ring.parts(i).store.KindOf(ring.target()), store::CopyKind::kRelayed);
  }
}

// The only node that had all bytes died after the commit.
TEST(Striped, WhatNobodyHasAllOfAnyMoreGoesUnlessItIsWaitedFor) {
  const Layout layout = LayoutOf(256 * kBlock, 16);
  RingByHand ring({.members = 3,
                   .layout = layout,
                   .link = {.latency = 100us, .bytes_per_second = 10'000'000},
                   .commits = false});
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return ring.all_asked(); }));
  const auto waits = ring.Get(0);
  ring.Commit();
  for (std::uint32_t i = 0; i < 3; ++i) ring.DropSlots(i);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ring.Hear(i, protocol::HolderLost{ring.target(), {"n9"}});
  }
  ring.Pass(3s);
  EXPECT_NE(ring.TargetAt(0), nullptr);
  EXPECT_FALSE(waits->has_value());
  for (const std::uint32_t member : {1U, 2U}) {
    EXPECT_EQ(ring.TargetAt(member), nullptr) << member;
    EXPECT_EQ(ring.Said<protocol::CancelWant>(member).size(), 1u) << member;
  }
}

// --- the end of a reduction that is not committed

class StripedEnds : public ::testing::Test {
 protected:
  StripedEnds() {
    ring_.Plan();
    EXPECT_TRUE(ring_.Until([&] { return ring_.HasAllBytes(1); }));
  }
  // Nothing of the target is left at that node, and its memory is free.
  void ExpectNothingLeft(std::uint32_t node) {
    ring_.Pass(3s);
    EXPECT_EQ(ring_.TargetAt(node), nullptr);
    const EntryPtr entry = ring_.parts(node).table.Find(ring_.target());
    EXPECT_TRUE(!entry || (!entry->flight() && entry->slots().empty()));
    EXPECT_EQ(ring_.parts(node).store.usage().used_bytes, source_bytes_);
  }

  RingByHand ring_{{.members = 3, .layout = kUneven, .commits = false}};
  const std::uint64_t source_bytes_ = ring_.parts(1).store.usage().used_bytes;
};

TEST_F(StripedEnds, DroppedSlotsLeaveNothing) {
  ring_.DropSlots(1);
  ExpectNothingLeft(1);
  EXPECT_THAT(ring_.Said<protocol::CopyComplete>(1), IsEmpty());
  // A shard that has restarted heard of the copy, and knows nothing of slots.
  EXPECT_EQ(ring_.Said<protocol::CopyGone>(1).size(), 1u);
}

TEST_F(StripedEnds, WhoeverWaitsGoesOnWaiting) {
  const auto waits = ring_.Get(1);
  const std::size_t before = ring_.Said<protocol::Locate>(1).size();
  ring_.DropSlots(1);
  ring_.Pass(3s);
  EXPECT_FALSE(waits->has_value());
  EXPECT_EQ(ring_.Said<protocol::Locate>(1).size(), before + 1) << "it is made elsewhere, perhaps";
}

TEST_F(StripedEnds, ADeletedTargetLeavesNothing) {
  const auto waits = ring_.Get(1);
  ring_.Hear(1, protocol::Deleted{ring_.target(), 60s, {{2, 1}}});
  ASSERT_TRUE(waits->has_value());
  EXPECT_EQ(waits->value().error().code, ErrorCode::kDeleted);
  ring_.DropSlots(1);
  ExpectNothingLeft(1);
}

TEST_F(StripedEnds, AnAbortedTargetLeavesNothing) {
  const auto waits = ring_.Get(1);
  ring_.Hear(1, protocol::TargetAborted{ring_.target(), ring_.version(), ErrorCode::kPeerLost,
                                        "it gave up"});
  ASSERT_TRUE(waits->has_value());
  EXPECT_EQ(waits->value().error().code, ErrorCode::kPeerLost);
  ring_.DropSlots(1);
  ExpectNothingLeft(1);
}

// --- what the shard is told after a lost session

TEST(Striped, AnInventorySpeaksOfTheCopyAndOfWhatIsMadeHere) {
  RingByHand ring({.members = 3, .layout = kUneven, .commits = false});
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return ring.all_asked() && AllHaveAllBytes(ring, 3); }));
  std::vector<protocol::Held> held;
  bool asks = false;
  for (const protocol::NodeEvent& event : ring.Inventory(1)) {
    const auto* copy = std::get_if<protocol::Held>(&event);
    if (copy != nullptr && copy->object == ring.target()) held.push_back(*copy);
    asks |= std::holds_alternative<protocol::ReduceCommit>(event);
  }
  EXPECT_TRUE(asks);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].version, ring.version());
  EXPECT_EQ(held[0].produces, ring.EndsAt(1));
  EXPECT_TRUE(held[0].primary);
  EXPECT_FALSE(held[0].complete);
  EXPECT_TRUE(ring.layout().complete(held[0].marks));
  ASSERT_EQ(held[0].upstreams.size(), 1u);
  EXPECT_EQ(held[0].upstreams[0].stripes, ring.layout().all_stripes() & ~ring.EndsAt(1));
}

// --- memory

// There is room for the source and one more: of its two slots one gives up, within bounds.
TEST(Striped, ANodeWithoutMemoryForBothSaysSo) {
  const Layout layout = LayoutOf(16 * kBlock, 4);
  RingByHand ring(
      {.members = 2, .layout = layout, .memory_bytes = 2 * layout.size_bytes + 2 * kBlock});
  ring.Plan();
  ASSERT_TRUE(ring.Until([&] { return !ring.Said<protocol::SlotFailed>(0).empty(); }));
  EXPECT_EQ(ring.Said<protocol::SlotFailed>(0)[0].code, ErrorCode::kResourceExhausted);
  EXPECT_LE(ToSeconds(Now() - Time(1h)), 2.5);
}

}  // namespace
}  // namespace hoplite::node
