// What a node repeats to a shard: its copies, tombstones and open requests (R15), part by part
// (R15).
#include "node/shard/inventory.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

const Version kHeldVersion{{1, 5}};
const Version kMarkVersion{{1, 6}};

using InventoryTest = hoplite::testing::NodeByHandTest;

TEST_F(InventoryTest, TellsOfCopiesWhatTheyAre) {
  node_.Keep(node_.Named("put"), "bytes", kHeldVersion, store::CopyKind::kPrimary);
  node_.Keep(node_.Named("relayed"), "bytes", kHeldVersion, store::CopyKind::kRelayed);
  const ObjectId grows = node_.Named("grows");
  const auto draft = node_.Ask(node_.calls().Create(grows, 1_MiB, "", node_.NewCall()));
  node_.Hear(protocol::CreateAccepted{grows, kHeldVersion});
  EXPECT_THAT(node_.Inventory(),
              UnorderedElementsAre("held put complete primary", "held relayed complete",
                                   "held grows producing primary"));
}

TEST_F(InventoryTest, RepeatsWhatIsNotAnswered) {
  const auto located = node_.Ask(node_.calls().Get(node_.Named("nowhere"), node_.NewCall()));
  const ObjectId wanted = node_.Named("wanted");
  const auto waits = node_.Ask(node_.calls().Get(wanted, node_.NewCall()));
  node_.Hear(protocol::Located{wanted, kHeldVersion, Layout::For(1_MiB), ""});
  const auto draft =
      node_.Ask(node_.calls().Create(node_.Named("new"), 1_MiB, "", node_.NewCall()));
  const auto deletes = node_.Ask(node_.calls().Delete(node_.Named("old"), node_.NewCall()));
  const auto follows = node_.calls().Subscribe(node_.Named("followed"), nullptr);
  node_.Hear(protocol::Deleted{node_.Named("deleted"), 60s, kMarkVersion});
  const std::vector<std::string> open = node_.Inventory();
  EXPECT_THAT(open, UnorderedElementsAre("locate nowhere", "held wanted partial",
                                         "want wanted jointly", "create new", "delete old",
                                         "subscribe followed", "tombstone deleted"));
  EXPECT_EQ(node_.Inventory(), open) << "it changes nothing";
}

TEST_F(InventoryTest, IsSilentAboutWhatIsOver) {
  const CallPtr call = node_.NewCall();
  const auto gets = node_.Ask(node_.calls().Get(node_.Named("nowhere"), call));
  call->Cancel();
  auto draft = node_.Ask(node_.calls().Create(node_.Named("small"), 100, "", node_.NewCall()));
  draft->reset();  // never announced
  const ObjectId old = node_.Named("old");
  const auto deletes = node_.Ask(node_.calls().Delete(old, node_.NewCall()));
  node_.Hear(protocol::Deleted{old, 1s, kMarkVersion});
  auto follows = node_.calls().Subscribe(node_.Named("followed"), nullptr);
  follows.reset();
  node_.Pass(2s);
  EXPECT_THAT(node_.Inventory(), IsEmpty());
}

TEST_F(InventoryTest, IsToldInPartsInTheOrderOfIdsEachObjectOnce) {
  constexpr std::size_t kObjects = 1000;
  for (std::size_t i = 0; i < kObjects; ++i) {
    const ObjectId object = ObjectId::FromName(std::to_string(i));
    node_.Keep(object, "bytes", kHeldVersion, store::CopyKind::kPrimary);
  }
  Inventory& inventory = node_.parts().inventory;
  std::vector<ObjectId> told;
  std::optional<ObjectId> after;
  std::size_t parts = 0;
  do {
    const auto part = inventory.Tell(0, after, 4_KiB, {});
    for (const protocol::NodeEvent& event : part.events) {
      if (const auto* held = std::get_if<protocol::Held>(&event)) told.push_back(held->object);
    }
    EXPECT_LT(part.events.size(), kObjects / 2) << "about so many bytes";
    after = part.reached;
    ++parts;
  } while (after && parts < kObjects);
  EXPECT_EQ(told.size(), kObjects);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(std::ranges::adjacent_find(told), told.end());
  EXPECT_GT(parts, 10u);
}

TEST_F(InventoryTest, OneObjectIsToldOutOfTurn) {
  const ObjectId one = node_.Named("one");
  node_.Keep(one, "bytes", kHeldVersion, store::CopyKind::kPrimary);
  node_.Keep(node_.Named("other"), "bytes", kHeldVersion, store::CopyKind::kPrimary);
  const auto deletes = node_.Ask(node_.calls().Delete(one, node_.NewCall()));
  EXPECT_EQ(node_.parts().inventory.Of(one).size(), 2u) << "its copy, and the Delete";
  EXPECT_TRUE(node_.parts().inventory.Of(node_.Named("unknown")).empty());
}

// To tell of a fetch makes it forget what the shard will not know of: that holds for what is said.
TEST_F(InventoryTest, WhatWasToldOutOfTurnIsLeftOut) {
  const ObjectId one = node_.Named("one");
  node_.Keep(one, "bytes", kHeldVersion, store::CopyKind::kPrimary);
  node_.Keep(node_.Named("other"), "bytes", kHeldVersion, store::CopyKind::kPrimary);
  const auto part = node_.parts().inventory.Tell(0, std::nullopt, 1_MiB, {one});
  ASSERT_EQ(part.events.size(), 2u);  // how full the store is, and the other
  EXPECT_EQ(std::get<protocol::Held>(part.events[1]).object, node_.Named("other"));
}

TEST_F(InventoryTest, BytesAreOfferedOfSmallObjectsThatWerePutHere) {
  const ObjectId small = node_.Named("small");
  node_.Keep(small, "these", kHeldVersion, store::CopyKind::kPrimary);
  node_.Keep(node_.Named("relayed"), "bytes", kHeldVersion, store::CopyKind::kRelayed);
  node_.Keep(node_.Named("large"), std::string(kMaxInlineBytes + 1, 'x'), kHeldVersion,
             store::CopyKind::kPrimary);
  const auto part = node_.parts().inventory.InlineBytes(0, std::nullopt, 1_MiB);
  ASSERT_EQ(part.events.size(), 1u);
  const auto& held = std::get<protocol::HeldBytes>(part.events.front());
  EXPECT_EQ(held.object, small);
  EXPECT_EQ(*held.bytes, "these");
  EXPECT_FALSE(part.reached) << "that is all";
}

// Bytes that it has no room for would make it refuse all that come after them.
TEST_F(InventoryTest, BytesAreNotOfferedOfWhatTheShardKeepsNone) {
  node_.directory().limit = 4;
  node_.Keep(node_.Named("five"), "bytes", kHeldVersion, store::CopyKind::kPrimary);
  EXPECT_TRUE(node_.parts().inventory.InlineBytes(0, std::nullopt, 1_MiB).events.empty());
  node_.Keep(node_.Named("four"), "four", kHeldVersion, store::CopyKind::kPrimary);
  EXPECT_EQ(node_.parts().inventory.InlineBytes(0, std::nullopt, 1_MiB).events.size(), 1u);
}

}  // namespace
}  // namespace hoplite::node
