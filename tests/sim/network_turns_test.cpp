// Streams whose stripes go in turns: the lowest block that the source has goes next (R19).
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/network.h"

namespace hoplite::sim {
namespace {

constexpr Duration kOneWay = std::chrono::microseconds(1);
constexpr double kLinkRate = 1.25e9;
constexpr std::uint32_t kStripesOfAll = 16;

class NetworkTurns : public testing::Test {
 protected:
  NodeIndex Node() {
    const NodeIndex node = network_.AddNode();
    for (std::uint32_t s = 0; s < kStripesOfAll; ++s) network_.SetMark(now_, node, s, 0, 0);
    return node;
  }
  void SetWhole(NodeIndex node, std::uint32_t stripe) {
    network_.SetMark(now_, node, stripe, layout_.stripe_block_count(stripe), 1);
  }
  void Pull(NodeIndex source, NodeIndex receiver, StripeMask stripes) {
    for (std::uint32_t s = 0; s < kStripesOfAll; ++s) {
      if ((stripes >> s & 1) != 0) network_.Open(now_, source, receiver, s);
    }
  }
  // Until nothing moves; when the last stripe became whole.
  double Run() {
    double last = 0;
    network_.Settle(now_);
    while (network_.next_event() != kNever) {
      Step([&](const Network::Whole&) { last = ToSeconds(now_ - Time{}); });
    }
    return last;
  }
  void RunUntil(Time end) {
    network_.Settle(now_);
    while (network_.next_event() <= end) Step([](const Network::Whole&) {});
    now_ = end;
  }

  Layout layout_ = Layout::For(16_MiB, kStripesOfAll);
  StripeMask all_ = layout_.all_stripes();
  double whole_ = static_cast<double>(16_MiB) / kLinkRate;
  double block_ = static_cast<double>(layout_.block_bytes) / kLinkRate;
  Network network_{layout_, kLinkRate, kOneWay, Stripes::kInTurns};
  Time now_{};

 private:
  template <typename Do>
  void Step(const Do& each) {
    now_ = network_.next_event();
    std::vector<Network::Whole> whole;
    network_.Advance(now_, whole);
    network_.Settle(now_);
    for (const Network::Whole& one : whole) each(one);
    ASSERT_EQ(network_.BrokenInvariant(now_), "");
  }
};

// Side by side it would be a block of each stripe.
TEST_F(NetworkTurns, AHopOfManyStripesTakesOneBlock) {
  const NodeIndex source = Node();
  const NodeIndex relay = Node();
  const NodeIndex last = Node();
  for (std::uint32_t s = 0; s < kStripesOfAll; ++s) SetWhole(source, s);
  Pull(source, relay, all_);
  Pull(relay, last, all_);
  EXPECT_NEAR(Run(), whole_ + block_ + 2e-6, 2e-6);
}

TEST_F(NetworkTurns, TheLowestBlockThatTheSourceHasGoesFirst) {
  const NodeIndex source = Node();
  const NodeIndex receiver = Node();
  SetWhole(source, 5);
  Pull(source, receiver, all_);
  RunUntil(now_ + kOneWay + FromSeconds(2.5 * block_));
  EXPECT_EQ(network_.Blocks(now_, receiver, 5), 2U);
  SetWhole(source, 3);
  RunUntil(now_ + FromSeconds(2 * block_));
  // The block that was under way first; then stripe 3 begins where 5 began before.
  EXPECT_EQ(network_.Blocks(now_, receiver, 5), 3U);
  EXPECT_EQ(network_.Blocks(now_, receiver, 3), 1U);
}

TEST_F(NetworkTurns, ABrokenStreamKeepsItsWholeBlocks) {
  const NodeIndex source = Node();
  const NodeIndex receiver = Node();
  SetWhole(source, 0);
  SetWhole(source, 1);
  Pull(source, receiver, 3);
  RunUntil(now_ + kOneWay + FromSeconds(3.5 * block_));
  for (std::uint32_t s = 0; s < 2; ++s) network_.Close(now_, network_.Feeding(receiver, s));
  const std::uint32_t before =
      network_.Blocks(now_, receiver, 0) + network_.Blocks(now_, receiver, 1);
  EXPECT_EQ(before, 3U);
  Pull(source, receiver, 3);
  Run();
  EXPECT_TRUE(network_.WholeAt(receiver, 0));
  EXPECT_TRUE(network_.WholeAt(receiver, 1));
}

// Each node begins the stripes that end at the one before it, and passes on the others: what every
// link carries is all but one part, and no link ever waits.
TEST_F(NetworkTurns, ARingOfFoldsTakesWhatItsLinksCarry) {
  constexpr std::uint32_t kNodes = 4;
  constexpr StripeMask kPart = 0xf;
  for (std::uint32_t i = 0; i < kNodes; ++i) Node();
  std::vector<NodeIndex> rings;
  const auto ends = [](std::uint32_t i) { return kPart << 4 * (i % kNodes); };
  const auto fold = [&](NodeIndex into, NodeIndex node, StripeMask stripes, NodeIndex from) {
    const NodeIndex input = network_.AddCopy(node);
    network_.AddInput(now_, into, input, stripes);
    Pull(from, input, stripes);
  };
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    rings.push_back(network_.AddCopy(i));
    network_.Fold(now_, rings[i], 1, {all_ & ~ends(i), false, 1});
    network_.Fold(now_, i, 1, {ends(i), false, 1});
  }
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    const std::uint32_t before = (i + kNodes - 1) % kNodes;
    fold(rings[i], i, all_ & ~ends(i) & ~ends(before), rings[before]);
    fold(i, i, ends(i), rings[before]);
  }
  EXPECT_NEAR(Run(), whole_ * (kNodes - 1) / kNodes, 4 * block_);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    for (std::uint32_t s = 0; s < kStripesOfAll; ++s) {
      EXPECT_EQ(network_.WholeAt(i, s), (ends(i) >> s & 1) != 0);
    }
  }
}

}  // namespace
}  // namespace hoplite::sim
