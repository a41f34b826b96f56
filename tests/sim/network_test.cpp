#include "sim/planner_world/network.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/bounds.h"

namespace hoplite::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kLatency = microseconds(100);
constexpr double kRate = 1.25e9;

// Runs a network by itself and remembers when each node was whole.
class NetworkTest : public testing::Test {
 protected:
  NodeIndex Node(bool whole = false) {
    const NodeIndex node = network_.AddNode();
    network_.SetMark(Time{}, node, 0, whole ? layout_.stripe_block_count(0) : 0, whole ? 1 : 0);
    done_.push_back(kNever);
    return node;
  }
  void RunUntil(Time end) {
    network_.Settle(now_);
    while (network_.next_event() <= end) {
      now_ = network_.next_event();
      std::vector<Network::Whole> whole;
      network_.Advance(now_, whole);
      network_.Settle(now_);
      for (const Network::Whole& one : whole) done_[one.node] = now_;
      ASSERT_EQ(network_.BrokenInvariant(now_), "");
    }
    now_ = end;
  }
  void Run() { RunUntil(now_ + std::chrono::hours(1)); }
  double Seconds(NodeIndex node) const { return ToSeconds(done_[node] - Time{}); }

  Layout layout_ = Layout::For(16_MiB, 1);
  double whole_ = static_cast<double>(16_MiB) / kRate;
  double block_ = static_cast<double>(layout_.block_bytes) / kRate;
  Network network_{layout_, kRate, kLatency};
  Time now_{};
  std::vector<Time> done_;
};

TEST_F(NetworkTest, OneHopTakesTheBound) {
  const NodeIndex source = Node(true);
  const NodeIndex receiver = Node();
  network_.Open(now_, source, receiver, 0);
  Run();
  EXPECT_NEAR(Seconds(receiver), whole_ + 100e-6, 1e-8);
}

TEST_F(NetworkTest, ALineTakesOneBlockAndOneLatencyPerHop) {
  Node(true);
  for (NodeIndex i = 1; i < 100; ++i) {
    Node();
    network_.Open(now_, i - 1, i, 0);
  }
  Run();
  const Link link{kLatency, kRate};
  EXPECT_NEAR(Seconds(99), TreeSeconds(100, 16_MiB, link, 1), 1e-6);
}

TEST_F(NetworkTest, ATreeTakesItsClosedForm) {
  Node(true);
  for (NodeIndex i = 1; i < 31; ++i) {
    Node();
    network_.Open(now_, (i - 1) / 2, i, 0);
  }
  Run();
  const Link link{kLatency, kRate};
  EXPECT_NEAR(Seconds(30), TreeSeconds(31, 16_MiB, link, 2), 1e-5);
}

TEST_F(NetworkTest, AnUpLinkIsSharedAndItsRestIsUsed) {
  const NodeIndex source = Node(true);
  const NodeIndex first = Node();
  const NodeIndex second = Node();
  network_.Open(now_, source, first, 0);
  RunUntil(Time{} + FromSeconds(whole_ / 2));
  network_.Open(now_, source, second, 0);
  Run();
  EXPECT_NEAR(Seconds(first), 1.5 * whole_ + 100e-6, 1e-7);
  EXPECT_NEAR(Seconds(second), 2 * whole_ + 100e-6, 1e-7);
}

TEST_F(NetworkTest, ADownLinkIsSharedByTwoStripes) {
  layout_ = Layout::For(16_MiB, 2);
  network_ = Network(layout_, kRate, kLatency);
  for (int i = 0; i < 3; ++i) {
    const NodeIndex node = network_.AddNode();
    done_.push_back(kNever);
    for (std::uint32_t s = 0; s < 2; ++s) {
      network_.SetMark(now_, node, s, node < 2 ? layout_.stripe_block_count(s) : 0, 1);
    }
  }
  network_.Open(now_, 0, 2, 0);
  network_.Open(now_, 1, 2, 1);
  Run();
  EXPECT_NEAR(Seconds(2), whole_ + 100e-6, 1e-7);
}

// Whatever the number of stripes, one block is under way on a stream.
TEST_F(NetworkTest, StripesOfOneStreamPassARelayLikeOneStripe) {
  constexpr std::uint32_t kStripes = 16;
  layout_ = Layout::For(16_MiB, kStripes);
  network_ = Network(layout_, kRate, kLatency);
  for (int i = 0; i < 4; ++i) {
    const NodeIndex node = network_.AddNode();
    done_.push_back(kNever);
    for (std::uint32_t s = 0; s < kStripes; ++s) {
      network_.SetMark(now_, node, s, node == 0 ? layout_.stripe_block_count(s) : 0, 1);
      if (node > 0) network_.Open(now_, node - 1, node, s, kStripes);
    }
  }
  Run();
  EXPECT_NEAR(Seconds(3), whole_ + 2 * block_ + 3 * 100e-6, 1e-6);
}

// A flow that has nothing to send takes nothing from the others: a send turn is held only while
// there are bytes to send.
TEST_F(NetworkTest, AStarvedFlowTakesNoShare) {
  const NodeIndex stuck = Node();
  const NodeIndex waits = Node();
  const NodeIndex source = Node(true);
  const NodeIndex receiver = Node();
  network_.Open(now_, stuck, waits, 0);
  network_.Open(now_, source, stuck, 0);
  RunUntil(Time{} + microseconds(1));
  network_.Break(now_, 1);
  network_.Open(now_, source, receiver, 0);
  Run();
  EXPECT_NEAR(Seconds(receiver), whole_ + 101e-6, 1e-7);
  EXPECT_EQ(done_[waits], kNever);
}

TEST_F(NetworkTest, ARelayNeverSendsWhatItHasNotGot) {
  const NodeIndex source = Node(true);
  const NodeIndex relay = Node();
  const NodeIndex leaf = Node();
  const FlowId feed = network_.Open(now_, source, relay, 0);
  network_.Open(now_, relay, leaf, 0);
  RunUntil(Time{} + FromSeconds(whole_ / 2));
  network_.Break(now_, feed);
  Run();
  RunUntil(now_ + milliseconds(100));
  EXPECT_GT(network_.Blocks(now_, relay, 0), 400u);
  EXPECT_LT(network_.Blocks(now_, leaf, 0), network_.Blocks(now_, relay, 0));
  EXPECT_EQ(done_[leaf], kNever);
}

TEST_F(NetworkTest, AResumeStartsAtTheLastWholeBlock) {
  const NodeIndex source = Node(true);
  const NodeIndex receiver = Node();
  const FlowId flow = network_.Open(now_, source, receiver, 0);
  RunUntil(Time{} + FromSeconds(whole_ / 2));
  const std::uint32_t before = network_.Blocks(now_, receiver, 0);
  network_.Close(now_, flow);
  EXPECT_EQ(network_.Blocks(now_, receiver, 0), before);
  network_.Open(now_, source, receiver, 0);
  Run();
  EXPECT_LT(network_.bytes_dropped(), layout_.block_bytes);
  EXPECT_NEAR(Seconds(receiver), whole_ + 200e-6 + block_ / 2, 1e-4 + block_);
}

// A slow producer feeds a line: everybody finishes right behind it.
TEST_F(NetworkTest, AGrowingCopyIsForwardedAsItGrows) {
  const NodeIndex producer = Node();
  const NodeIndex receiver = Node();
  network_.Produce(now_, producer, kRate / 10);
  network_.Open(now_, producer, receiver, 0);
  Run();
  EXPECT_NEAR(Seconds(producer), 10 * whole_, 1e-6);
  EXPECT_NEAR(Seconds(receiver), 10 * whole_ + block_ + 100e-6, 1e-5);
}

// --- folds

class FoldTest : public NetworkTest {
 protected:
  // A node that folds what it holds itself with what comes from these.
  NodeIndex FoldOf(const std::vector<NodeIndex>& children) {
    const NodeIndex node = nodes_++;
    network_.Fold(now_, node, static_cast<std::uint32_t>(children.size()), {1, false, 1});
    for (const NodeIndex child : children) {
      const NodeIndex input = network_.AddCopy(node);
      done_.resize(input + 1, kNever);
      network_.AddInput(now_, node, input, 1);
      network_.Open(now_, child, input, 0);
    }
    return node;
  }
  void Nodes(int count) {
    for (int i = 0; i < count; ++i) Node();
  }
  NodeIndex nodes_ = 0;
};

TEST_F(FoldTest, ALineOfFoldsIsAPipeline) {
  Nodes(100);
  NodeIndex last = FoldOf({});
  for (int i = 1; i < 100; ++i) last = FoldOf({last});
  Run();
  EXPECT_NEAR(Seconds(last), 99 * (100e-6 + block_) + whole_ - block_, 1e-5);
}

TEST_F(FoldTest, AStarReceivesAllOfThemOverOneLink) {
  Nodes(5);
  std::vector<NodeIndex> leaves;
  for (int i = 0; i < 4; ++i) leaves.push_back(FoldOf({}));
  const NodeIndex root = FoldOf(leaves);
  Run();
  EXPECT_NEAR(Seconds(root), 4 * whole_ + 100e-6, 1e-6);
}

TEST_F(FoldTest, ATreeGrowsWithItsSlowestInput) {
  Nodes(7);
  const NodeIndex a = FoldOf({FoldOf({}), FoldOf({})});
  const NodeIndex b = FoldOf({FoldOf({}), FoldOf({})});
  const NodeIndex root = FoldOf({a, b});
  Run();
  EXPECT_NEAR(Seconds(root), 2 * (100e-6 + 2 * block_) + 2 * (whole_ - block_), 1e-5);
}

// The node's down link carries what comes from the other node, and no more.
TEST_F(FoldTest, WhatStaysOnANodeTakesNoLink) {
  Nodes(2);
  const NodeIndex below = FoldOf({FoldOf({})});
  const NodeIndex above = network_.AddCopy(below);
  const NodeIndex input = network_.AddCopy(below);
  done_.resize(input + 1, kNever);
  network_.Fold(now_, above, 1, {1, false, 1});
  network_.AddInput(now_, above, input, 1);
  network_.Open(now_, below, input, 0);
  Run();
  EXPECT_NEAR(Seconds(above), whole_ + block_ + 2 * 100e-6, 1e-5);
  EXPECT_EQ(network_.BytesSentBy(below), 0);
}

TEST_F(FoldTest, AHeldFoldIsWholeByReleaseOnly) {
  Nodes(2);
  network_.Fold(now_, 0, 0, {1, true, 1});
  const NodeIndex input = network_.AddCopy(1);
  network_.Open(now_, 0, input, 0);
  done_.resize(input + 1, kNever);
  RunUntil(Time(milliseconds(50)));
  EXPECT_EQ(done_[input], kNever);
  EXPECT_EQ(network_.Blocks(now_, input, 0), layout_.stripe_block_count(0) - 1);
  network_.Release(now_, 0);
  Run();
  EXPECT_NEAR(Seconds(input), 50e-3 + 100e-6 + block_, 1e-6);
}

TEST_F(FoldTest, ALostInputStopsItAndAResumedOneGoesOn) {
  Nodes(2);
  const NodeIndex leaf = FoldOf({});
  const NodeIndex root = nodes_++;
  network_.Fold(now_, root, 1, {1, false, 1});
  const NodeIndex input = network_.AddCopy(root);
  done_.resize(input + 1, kNever);
  network_.AddInput(now_, root, input, 1);
  const FlowId first = network_.Open(now_, leaf, input, 0);
  RunUntil(Time(milliseconds(5)));
  network_.Close(now_, first);
  const std::uint32_t before = network_.Blocks(now_, root, 0);
  EXPECT_GT(before, 100U);
  RunUntil(Time(milliseconds(20)));
  EXPECT_EQ(network_.Blocks(now_, root, 0), before);
  network_.Open(now_, leaf, input, 0);
  Run();
  EXPECT_NEAR(Seconds(root), whole_ + 15e-3 + 200e-6, 2 * block_);
}

}  // namespace
}  // namespace hoplite::sim
