#include "client/get_many.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>

namespace hoplite::client {
namespace {

std::vector<ObjectId> Ids(std::size_t count) {
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(ObjectId::FromName(std::to_string(i)));
  return ids;
}

TEST(OrderOfAskingTest, HasEachPlaceOnceAndIsTheSameEachTime) {
  for (const std::size_t count : {0uz, 1uz, 2uz, 17uz}) {
    const auto order = OrderOfAsking(Ids(count), "n1");
    EXPECT_EQ(order, OrderOfAsking(Ids(count), "n1"));
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), count);
    EXPECT_TRUE(std::ranges::all_of(order, [&](std::size_t place) { return place < count; }));
  }
}

TEST(OrderOfAskingTest, TheSameIdTwiceIsAskedTwice) {
  const std::vector<ObjectId> ids(3, ObjectId::FromName("x"));
  EXPECT_THAT(OrderOfAsking(ids, "n1"), testing::ElementsAre(0, 1, 2));
}

// Sixteen nodes with one list: at no turn do more than a few of them ask for the same one.
TEST(OrderOfAskingTest, NodesDoNotQueueUpForTheSameObject) {
  const auto ids = Ids(16);
  std::vector<std::vector<std::size_t>> orders;
  for (std::size_t node = 0; node < ids.size(); ++node) {
    orders.push_back(OrderOfAsking(ids, "n" + std::to_string(node)));
  }
  for (std::size_t turn = 0; turn < ids.size(); ++turn) {
    for (std::size_t wanted = 0; wanted < ids.size(); ++wanted) {
      EXPECT_LE(
          std::ranges::count_if(orders, [&](const auto& order) { return order[turn] == wanted; }),
          6)
          << "turn " << turn;
    }
  }
}

}  // namespace
}  // namespace hoplite::client
