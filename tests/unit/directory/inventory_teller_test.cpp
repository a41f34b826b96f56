// An inventory told in parts, while the node goes on.
#include "directory/inventory_teller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace hoplite::directory {
namespace {

using protocol::EvictAsk;
using protocol::Held;
using protocol::HeldBytes;
using protocol::InventoryEnd;
using protocol::Locate;
using protocol::NodeEvent;

// Objects "0" to "9" in the order of their ids; each part has two.
class InventoryTellerTest : public testing::Test {
 protected:
  InventoryTellerTest() {
    for (int i = 0; i < 10; ++i) objects_.push_back(ObjectId::FromName(std::to_string(i)));
    std::ranges::sort(objects_);
    hooks_.inventory = [this](std::size_t, const auto& after, std::size_t, const auto& told) {
      DirectoryClient::Part part = Part<Held>(after);
      std::erase_if(part.events, [&told](const NodeEvent& event) {
        return told.contains(*protocol::ObjectOf(event));
      });
      return part;
    };
    hooks_.inventory_of = [](const ObjectId& object) {
      return std::vector<NodeEvent>{Locate{object}};
    };
    hooks_.inline_bytes = [this](std::size_t, const auto& after, std::size_t) {
      return Part<HeldBytes>(after);
    };
    teller_.Begin(1);
  }

  template <typename Event>
  DirectoryClient::Part Part(const std::optional<ObjectId>& after) const {
    auto next = after ? std::ranges::upper_bound(objects_, *after) : objects_.begin();
    DirectoryClient::Part part;
    for (int i = 0; i < 2 && next != objects_.end(); ++i, ++next) {
      Event event;
      event.object = *next;
      part.events.emplace_back(std::move(event));
      part.reached = *next;
    }
    if (next == objects_.end()) part.reached.reset();
    return part;
  }

  // "h3" Held, "b3" its bytes, "l3" Locate, "e3" EvictAsk, "." the end.
  std::string Words(const std::optional<InventoryTeller::Events>& events) const {
    if (!events) return "none";
    std::string words;
    for (const NodeEvent& event : *events) {
      if (std::holds_alternative<InventoryEnd>(event)) {
        words += ".";
        continue;
      }
      words += std::holds_alternative<Held>(event)        ? "h"
               : std::holds_alternative<HeldBytes>(event) ? "b"
               : std::holds_alternative<Locate>(event)    ? "l"
                                                          : "e";
      const auto at = std::ranges::find(objects_, *protocol::ObjectOf(event));
      words += std::to_string(at - objects_.begin());
    }
    return words;
  }
  std::string Next() { return Words(teller_.Next(1)); }
  std::string NextBytes() { return Words(teller_.NextBytes(1)); }
  std::string Due() { return Words(teller_.TakeDue()); }
  bool MaySayOf(std::size_t object) { return teller_.MaySay(Locate{objects_[object]}); }
  void TellAll() {
    while (teller_.Next(1)) continue;
  }

  std::vector<ObjectId> objects_;
  DirectoryClient::Hooks hooks_;
  InventoryTeller teller_{0, hooks_};
};

TEST_F(InventoryTellerTest, TellsAllInOrderThenTheEndThenTheBytes) {
  std::string told;
  while (auto part = teller_.Next(1)) told += Words(part);
  EXPECT_EQ(told, "h0h1h2h3h4h5h6h7h8h9.");
  told.clear();
  while (auto part = teller_.NextBytes(1)) told += Words(part);
  EXPECT_EQ(told, "b0b1b2b3b4b5b6b7b8b9");
}

TEST_F(InventoryTellerTest, WhatHappensToAnObjectThatWasToldMayBeSaid) {
  EXPECT_FALSE(MaySayOf(0));
  EXPECT_EQ(Next(), "h0h1");
  EXPECT_EQ(Due(), "");  // its turn came first
  EXPECT_TRUE(MaySayOf(0));
  EXPECT_TRUE(MaySayOf(1));
  EXPECT_FALSE(MaySayOf(2));
  EXPECT_TRUE(teller_.MaySay(protocol::StoreUsage{}));
  TellAll();
  EXPECT_TRUE(MaySayOf(9));
}

TEST_F(InventoryTellerTest, AnObjectThatWasNotIsToldOutOfTurnAndOnlyOnce) {
  EXPECT_EQ(Next(), "h0h1");
  EXPECT_FALSE(MaySayOf(3));
  EXPECT_FALSE(MaySayOf(3));
  EXPECT_EQ(Due(), "l3");
  EXPECT_TRUE(MaySayOf(3));
  EXPECT_EQ(Next(), "h2");  // an object that is told twice would be asked for twice
  EXPECT_TRUE(MaySayOf(3));
}

TEST_F(InventoryTellerTest, AQuestionThatNoInventoryRepeatsFollows) {
  EXPECT_FALSE(teller_.MaySay(EvictAsk{objects_[5], {}}));
  EXPECT_EQ(Due(), "l5e5");
  EXPECT_EQ(Due(), "");
}

TEST_F(InventoryTellerTest, ASessionBeginsAnew) {
  Next();
  EXPECT_FALSE(MaySayOf(7));
  Due();
  EXPECT_FALSE(MaySayOf(8));
  teller_.Begin(1);
  EXPECT_EQ(Due(), "");
  EXPECT_FALSE(MaySayOf(0));
  EXPECT_FALSE(MaySayOf(7));
}

TEST_F(InventoryTellerTest, BytesThatTheShardTookAreNotToldAgainToTheSameLife) {
  TellAll();
  EXPECT_EQ(NextBytes(), "b0b1");
  teller_.BytesSent(100);
  EXPECT_EQ(NextBytes(), "b2b3");
  teller_.BytesSent(200);
  teller_.Taken(199);
  teller_.Begin(1);
  EXPECT_EQ(NextBytes(), "b2b3");
  teller_.Begin(2);
  EXPECT_EQ(NextBytes(), "b0b1");
}

TEST_F(InventoryTellerTest, AShardWithoutRoomIsToldNoMoreBytesInThisSession) {
  EXPECT_EQ(NextBytes(), "b0b1");
  teller_.NoRoomForBytes();
  EXPECT_EQ(NextBytes(), "none");
  teller_.Begin(1);
  EXPECT_EQ(NextBytes(), "b0b1");
}

}  // namespace
}  // namespace hoplite::directory
