// What the shards are told of the node's links.
#include "node/shard/link_reports.h"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using protocol::LinkUse;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class LinkReportsTest : public hoplite::testing::NodeByHandTest {
 protected:
  LinkMeter& meter() { return node_.parts().data_plane.meter(); }
  // Since the last look.
  std::vector<LinkUse> Told() {
    std::vector<LinkUse> all;
    for (const protocol::NodeEvent& event : std::exchange(node_.directory().said, {})) {
      if (const auto* use = std::get_if<LinkUse>(&event)) all.push_back(*use);
    }
    return all;
  }

  const ObjectId y_ = node_.Named("y");
};

TEST_F(LinkReportsTest, TellWhatLeavesWhileItIsOfSeveralObjects) {
  const auto x = meter().Sends(x_);
  auto y = meter().Sends(y_);
  node_.Turn();
  *x += 3'000;
  *y += 6'000;
  node_.Pass(30ms);
  const std::vector<LinkUse> told = Told();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].fetches, 0U);
  EXPECT_THAT(told[0].sent, ElementsAre(LinkUse::Sent{y_, 200'000}, LinkUse::Sent{x_, 100'000}));

  y.reset();
  node_.Pass(60ms);
  *x += 3'000;
  EXPECT_THAT(Told().back().sent, IsEmpty()) << "one object is no news for other shards";
  node_.Pass(300ms);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(LinkReportsTest, NoStreamNoWord) {
  meter().Sends(x_).reset();
  node_.Pass(1s);
  EXPECT_THAT(Told(), IsEmpty());
}

// That they end is told once.
TEST_F(LinkReportsTest, CountWhatComes) {
  FlightGate& gate = node_.parts().data_plane.gate();
  std::optional<FlightGate::Place> one(std::in_place, gate, [] {});
  std::optional<FlightGate::Place> two(std::in_place, gate, [] {});
  meter().Receives();
  node_.Turn();
  node_.Pass(30ms);
  std::vector<LinkUse> told = Told();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].fetches, 2U);
  one.reset();
  two.reset();
  node_.Pass(30ms);
  told = Told();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].fetches, 0U);
}

TEST_F(LinkReportsTest, TellOfTheBusiestOnly) {
  std::vector<std::shared_ptr<LinkMeter::Bytes>> all;
  for (std::size_t i = 0; i < protocol::kMostSent + 10; ++i) {
    all.push_back(meter().Sends(node_.Named("object " + std::to_string(i))));
  }
  node_.Turn();
  for (std::size_t i = 0; i < all.size(); ++i) *all[i] += 1'000 * (i + 1);
  node_.Pass(30ms);
  const std::vector<LinkUse> told = Told();
  ASSERT_EQ(told.size(), 1U);
  ASSERT_EQ(told[0].sent.size(), protocol::kMostSent);
  EXPECT_EQ(told[0].sent.back().object, node_.Named("object 10"));
}

}  // namespace
}  // namespace hoplite::node
