// Noise of links, stream by stream: bursts, stalls, unfair shares and slow beginnings.
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/network.h"

namespace hoplite::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kWay = microseconds(100);
constexpr double kLink = 6.25e6;  // 50 Mbit/s

// One source, some receivers, on a network that runs by itself.
class NoisyNetwork {
 public:
  explicit NoisyNetwork(const Noise& noise, Stripes stripes = Stripes::kInTurns)
      : layout_(Layout::For(16_MiB, 1)), network_(layout_, kLink, kWay, stripes) {
    network_.SetNoise(noise, kSeed);
    network_.AddNode();
    network_.SetMark(now_, 0, 0, layout_.stripe_block_count(0), 1);
  }

  static constexpr std::uint64_t kSeed = 1;

  // By a new node.
  FlowId Pull(NodeIndex source = 0) {
    const NodeIndex receiver = network_.AddNode();
    whole_at_.resize(receiver + 1, kNever);
    return network_.Open(now_, source, receiver, 0);
  }
  void PullAgain(NodeIndex receiver) { network_.Open(now_, 0, receiver, 0); }
  void Close(FlowId flow) { network_.Close(now_, flow); }
  void RunUntil(Time end) {
    network_.Settle(now_);
    while (network_.next_event() <= end) {
      now_ = network_.next_event();
      std::vector<Network::Whole> whole;
      network_.Advance(now_, whole);
      network_.Settle(now_);
      for (const Network::Whole& one : whole) whole_at_[one.node] = now_;
      ASSERT_EQ(network_.BrokenInvariant(now_), "");
    }
    now_ = end;
  }
  void RunFor(Duration time) { RunUntil(now_ + time); }
  Time whole_at(NodeIndex node) const { return whole_at_[node]; }
  // To within a block.
  double Bytes(NodeIndex node) const {
    return static_cast<double>(network_.Blocks(now_, node, 0)) * layout_.block_bytes;
  }
  double block() const { return layout_.block_bytes; }

 private:
  Layout layout_;
  Network network_;
  Time now_{};
  std::vector<Time> whole_at_;
};

double AtRate(Duration time) { return kLink * ToSeconds(time); }

// --- bursts

TEST(NetworkNoise, AnIdleLinkCarriesItsBurstAtOnce) {
  NoisyNetwork network({.burst_bytes = 256'000});
  network.Pull();
  network.RunFor(milliseconds(2));
  EXPECT_GE(network.Bytes(1), 256'000 - network.block());
  network.RunFor(milliseconds(98));
  EXPECT_NEAR(network.Bytes(1), 256'000 + AtRate(milliseconds(100)), 2 * network.block());
}

TEST(NetworkNoise, ABucketFillsAtTheRateOfItsLink) {
  NoisyNetwork network({.burst_bytes = 256'000});
  const FlowId first = network.Pull();
  network.RunFor(milliseconds(200));
  network.Close(first);
  // Half of the bucket comes back.
  network.RunFor(FromSeconds(128'000 / kLink));
  network.Pull();
  network.RunFor(milliseconds(2));
  EXPECT_NEAR(network.Bytes(2), 128'000 + AtRate(milliseconds(2)), 2 * network.block());
}

// --- unfair shares

TEST(NetworkNoise, UnfairStreamsFillTheLinkAndDiffer) {
  NoisyNetwork network({.unfair = 3});
  network.Pull();
  network.Pull();
  double least = 1;
  double most = 1;
  for (int i = 0; i < 8; ++i) {
    const double before[] = {network.Bytes(1), network.Bytes(2)};
    network.RunFor(milliseconds(200));
    const double first = network.Bytes(1) - before[0];
    const double second = network.Bytes(2) - before[1];
    EXPECT_NEAR(first + second, AtRate(milliseconds(200)), 4 * network.block());
    least = std::min(least, first / second);
    most = std::max(most, first / second);
  }
  EXPECT_GT(most / least, 1.3);
  EXPECT_GT(least, 1 / 3.2);
  EXPECT_LT(most, 3.2);
}

TEST(NetworkNoise, AStreamAloneHasTheWholeLink) {
  NoisyNetwork network({.unfair = 3});
  network.Pull();
  network.RunFor(milliseconds(400));
  EXPECT_NEAR(network.Bytes(1), AtRate(milliseconds(400)), 2 * network.block());
}

// --- stalls

constexpr Noise kStalls{.stall_chance = 1, .stall = milliseconds(100)};

// The first stall of this host that is long enough to be seen.
std::pair<Time, Time> FirstStall(std::uint32_t host) {
  const Stalls stalls(kStalls.stall_chance, kStalls.stall, NoisyNetwork::kSeed);
  Time begin{};
  while (true) {
    begin = stalls.NextBegin(host, begin);
    const Time end = stalls.Awake(host, begin);
    if (end - begin > milliseconds(20)) return {begin, end};
  }
}

// While this host, of the source or the receiver, stands still.
void ExpectNothingComesMeanwhile(NoisyNetwork& network, std::uint32_t host) {
  const auto [begin, end] = FirstStall(host);
  network.Pull();
  network.RunUntil(begin + kWay + microseconds(1));
  const double before = network.Bytes(1);
  network.RunUntil(end);
  EXPECT_EQ(network.Bytes(1), before);
}

TEST(NetworkNoise, NothingLeavesAHostThatStandsStill) {
  NoisyNetwork network(kStalls);
  ExpectNothingComesMeanwhile(network, 0);
  network.RunFor(std::chrono::seconds(60));
  EXPECT_NE(network.whole_at(1), kNever);
}

TEST(NetworkNoise, NothingComesToAHostThatStandsStill) {
  NoisyNetwork network(kStalls);
  ExpectNothingComesMeanwhile(network, 1);
}

TEST(Stalls, AHostStandsStillAsOftenAsItsChanceSays) {
  const Stalls stalls(0.1, milliseconds(50), 7);
  int began = 0;
  Time when{};
  while (when < Time{} + std::chrono::seconds(1000)) {
    when = stalls.NextBegin(3, when);
    ++began;
    EXPECT_LE(stalls.Awake(3, when) - when, milliseconds(100));
  }
  EXPECT_NEAR(began, 1000, 120);
}

// --- beginnings

TEST(NetworkNoise, AStreamGrowsFromATenthToAllOfItsShare) {
  const Duration grows = milliseconds(900);
  NoisyNetwork network({.begins = grows});
  network.Pull();
  network.RunFor(grows / 9);
  EXPECT_NEAR(network.Bytes(1), 0.1 * AtRate(grows / 9), 2 * network.block());
  network.RunFor(grows * 8 / 9);
  const double grown = network.Bytes(1);
  EXPECT_NEAR(grown, 0.5 * AtRate(grows), 2 * network.block());
  network.RunFor(milliseconds(400));
  EXPECT_NEAR(network.Bytes(1) - grown, AtRate(milliseconds(400)), 2 * network.block());
}

TEST(NetworkNoise, AStreamGrowsAgainAfterAPause) {
  const Duration grows = milliseconds(180);
  for (const auto& [pause, part] : {std::pair(milliseconds(100), 1.0), {milliseconds(300), 0.5}}) {
    NoisyNetwork network({.begins = grows});
    const FlowId first = network.Pull();
    network.RunFor(milliseconds(500));
    network.Close(first);
    network.RunFor(pause);
    const double before = network.Bytes(1);
    network.PullAgain(1);
    network.RunFor(grows);
    EXPECT_NEAR(network.Bytes(1) - before, part * AtRate(grows), 2 * network.block());
  }
}

TEST(NetworkNoise, WhatAStreamThatGrowsLeavesIsForOthers) {
  const Duration grows = milliseconds(900);
  NoisyNetwork network({.begins = grows});
  network.Pull();
  network.RunFor(grows + milliseconds(100));
  const double before = network.Bytes(1);
  network.Pull();
  network.RunFor(grows / 9);
  // The newcomer has a tenth of its half.
  EXPECT_NEAR(network.Bytes(1) - before, 0.95 * AtRate(grows / 9), 2 * network.block());
}

// --- none

// Noise that never comes takes nothing from a network: the same moments, to the nanosecond.
TEST(NetworkNoise, NoiseThatNeverComesChangesNothing) {
  for (const Stripes stripes : {Stripes::kSideBySide, Stripes::kInTurns}) {
    NoisyNetwork quiet({}, stripes);
    NoisyNetwork noisy({.stall_chance = 1e-9}, stripes);
    for (NoisyNetwork* network : {&quiet, &noisy}) {
      network->Pull();
      network->Pull(1);
      network->RunFor(milliseconds(300));
      network->Pull();
      network->Pull(2);
      network->RunFor(std::chrono::seconds(60));
    }
    for (NodeIndex node = 1; node <= 4; ++node) {
      EXPECT_EQ(quiet.whole_at(node), noisy.whole_at(node)) << node;
      EXPECT_NE(quiet.whole_at(node), kNever) << node;
    }
  }
}

}  // namespace
}  // namespace hoplite::sim
