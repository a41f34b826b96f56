#include "node/streams/flight_gate.h"

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

// Fetches by number, and who was told to go, in order.
struct Line {
  explicit Line(std::size_t most) : gate(most) {}

  void Ask(int number) {
    turns.push_back(
        std::make_unique<FlightGate::Turn>(gate, [this, number] { told.push_back(number); }));
  }

  FlightGate gate;
  std::vector<int> told;
  std::deque<std::unique_ptr<FlightGate::Turn>> turns;
};

TEST(FlightGate, OthersGoInTheOrderOfTheirComing) {
  Line line(2);
  for (int i = 0; i < 6; ++i) line.Ask(i);
  EXPECT_FALSE(line.turns[1]->waits());
  EXPECT_TRUE(line.turns[2]->waits());
  line.turns[1].reset();
  EXPECT_EQ(line.told, std::vector<int>{2});
  EXPECT_FALSE(line.turns[2]->waits());
  line.turns[3].reset();  // cancelled while it waits
  line.turns[0].reset();
  line.turns[2].reset();
  EXPECT_EQ(line.told, (std::vector<int>{2, 4, 5}));
  EXPECT_EQ(line.gate.under_way(), 2u);
  line.turns.clear();
  EXPECT_EQ(line.gate.under_way(), 0u);
  EXPECT_EQ(line.gate.waiting(), 0u);
}

TEST(FlightGate, KnowsOfSeveralAlsoWhileTheyWaitForTheirObjectsAndForTwoSeconds) {
  Line line(1);
  const Time begin{std::chrono::hours(1)};
  line.gate.Begun(begin);
  EXPECT_FALSE(line.gate.several(begin));
  line.gate.Begun(begin);
  const Time later = begin + std::chrono::hours(1);
  EXPECT_TRUE(line.gate.several(later));
  line.gate.Ended(later);
  EXPECT_TRUE(line.gate.several(later + std::chrono::milliseconds(1999)));
  EXPECT_FALSE(line.gate.several(later + std::chrono::seconds(2)));
  line.gate.Ended(later);
  EXPECT_FALSE(line.gate.several(later + std::chrono::seconds(2)))
      << "of one alone it was told none";
}

TEST(FlightGate, ThreeThousandAtOnceAreNeverMoreThanTheBound) {
  constexpr int kAll = 3000;
  Line line(64);
  for (int i = 0; i < kAll; ++i) line.Ask(i);
  for (int i = 0; i < kAll; ++i) {
    EXPECT_LE(line.gate.under_way(), 64u);
    ASSERT_FALSE(line.turns.front()->waits()) << i;
    line.turns.pop_front();
  }
  EXPECT_EQ(line.told.size(), kAll - 64u);
}

TEST(FlightGate, WhoGetsNothingHoldsNobodyUp) {
  Line line(1);
  line.Ask(0);
  line.Ask(1);
  line.Ask(2);
  line.turns[0]->SetIdle(true);
  EXPECT_EQ(line.told, std::vector<int>{1});
  line.turns[0]->SetIdle(false);  // goes on, beyond the bound
  EXPECT_EQ(line.gate.under_way(), 2u);
  line.turns[1].reset();
  EXPECT_EQ(line.told, std::vector<int>{1}) << "the bound is full without it";
  line.turns[0]->SetIdle(true);
  line.turns[0].reset();  // an idle one has given its turn already
  EXPECT_EQ(line.told, (std::vector<int>{1, 2}));
  EXPECT_EQ(line.gate.under_way(), 1u);
}

TEST(FlightGate, WhomSomebodyDependsOnDoesNotWait) {
  Line line(1);
  for (int i = 0; i < 3; ++i) line.Ask(i);
  line.turns[2]->GoAtOnce();
  EXPECT_FALSE(line.turns[2]->waits());
  EXPECT_TRUE(line.told.empty());
  line.turns[0].reset();
  EXPECT_TRUE(line.turns[1]->waits()) << "it counts";
  line.turns[2].reset();
  EXPECT_EQ(line.told, std::vector<int>{1});
}

}  // namespace
}  // namespace hoplite::node
