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
    places.push_back(
        std::make_unique<FlightGate::Place>(gate, [this, number] { told.push_back(number); }));
  }

  FlightGate gate;
  std::vector<int> told;
  std::deque<std::unique_ptr<FlightGate::Place>> places;
};

TEST(FlightGate, OthersGoInTheOrderOfTheirComing) {
  Line line(2);
  for (int i = 0; i < 6; ++i) line.Ask(i);
  EXPECT_FALSE(line.places[1]->waits());
  EXPECT_TRUE(line.places[2]->waits());
  line.places[1].reset();
  EXPECT_EQ(line.told, std::vector<int>{2});
  EXPECT_FALSE(line.places[2]->waits());
  line.places[3].reset();  // cancelled while it waits
  line.places[0].reset();
  line.places[2].reset();
  EXPECT_EQ(line.told, (std::vector<int>{2, 4, 5}));
  EXPECT_EQ(line.gate.under_way(), 2u);
  line.places.clear();
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
    ASSERT_FALSE(line.places.front()->waits()) << i;
    line.places.pop_front();
  }
  EXPECT_EQ(line.told.size(), kAll - 64u);
}

TEST(FlightGate, WhoGetsNothingHoldsNobodyUp) {
  Line line(1);
  line.Ask(0);
  line.Ask(1);
  line.Ask(2);
  line.places[0]->SetIdle(true);
  EXPECT_EQ(line.told, std::vector<int>{1});
  line.places[0]->SetIdle(false);  // goes on, beyond the bound
  EXPECT_EQ(line.gate.under_way(), 2u);
  line.places[1].reset();
  EXPECT_EQ(line.told, std::vector<int>{1}) << "the bound is full without it";
  line.places[0]->SetIdle(true);
  line.places[0].reset();  // an idle one has given its place already
  EXPECT_EQ(line.told, (std::vector<int>{1, 2}));
  EXPECT_EQ(line.gate.under_way(), 1u);
}

TEST(FlightGate, WhomSomebodyDependsOnDoesNotWait) {
  Line line(1);
  for (int i = 0; i < 3; ++i) line.Ask(i);
  line.places[2]->GoAtOnce();
  EXPECT_FALSE(line.places[2]->waits());
  EXPECT_TRUE(line.told.empty());
  line.places[0].reset();
  EXPECT_TRUE(line.places[1]->waits()) << "it counts";
  line.places[2].reset();
  EXPECT_EQ(line.told, std::vector<int>{1});
}

}  // namespace
}  // namespace hoplite::node
