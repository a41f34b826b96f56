// The books of a shard, each alone.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/books/agenda.h"
#include "planner/books/inline_budget.h"
#include "planner/books/object_book.h"
#include "planner/books/outbox.h"
#include "planner/books/recovery_window.h"
#include "planner/books/tombstones.h"
#include "planner/copies/node_table.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr NodeId kSpeaker{1};
constexpr NodeId kOther{2};
constexpr Time kStart{seconds(100)};
constexpr Version Numbered(std::uint64_t number) { return {{1, number}}; }

const ObjectId kX = ObjectId::FromName("x");
const ObjectId kY = ObjectId::FromName("y");

// --- Tombstones

TEST(Tombstones, BlockAnIdForTheirTime) {
  Tombstones tombstones;
  EXPECT_EQ(tombstones.WhyBlocked(kX, kStart), "");
  tombstones.Insert(kX, {Numbered(5)}, kStart + seconds(60), kStart);
  EXPECT_THAT(tombstones.WhyBlocked(kX, kStart), HasSubstr("blocked for another 60.0 s"));
  EXPECT_EQ(tombstones.next(), kStart + seconds(60));
  EXPECT_EQ(tombstones.Until(kX, kStart + seconds(60)), std::nullopt);
}

TEST(Tombstones, TakeTheNewerVersionAndTheLongerTime) {
  Tombstones tombstones;
  tombstones.Insert(kX, {Numbered(5)}, kStart + seconds(60), kStart);
  tombstones.Insert(kX, {Numbered(3), true}, kStart + seconds(10), kStart);
  EXPECT_EQ(tombstones.VersionOf(kX), Numbered(5));
  EXPECT_EQ(tombstones.Until(kX, kStart), kStart + seconds(60));
}

TEST(Tombstones, SayThatAnIdWentWithItsLastOwner) {
  Tombstones tombstones;
  const auto why = [&] { return tombstones.WhyBlocked(kX, kStart); };
  tombstones.Insert(kX, {.version = Numbered(3), .unowned = true}, kStart + seconds(60), kStart);
  EXPECT_THAT(why(), HasSubstr("was deleted, since nobody owned it any more; its id is blocked"));
  tombstones.Insert(kX, {.version = Numbered(5)}, kStart + seconds(60), kStart);
  EXPECT_THAT(why(), HasSubstr("was deleted; its id is blocked"));
}

TEST(Tombstones, ANewOneKnowsNothingOfOneThatEnded) {
  Tombstones tombstones;
  tombstones.Insert(kX, {Numbered(5)}, kStart + seconds(1), kStart);
  tombstones.Insert(kX, {Numbered(3)}, kStart + seconds(3), kStart + seconds(2));
  EXPECT_EQ(tombstones.VersionOf(kX), Numbered(3));
  EXPECT_TRUE(tombstones.Consistent());
}

TEST(Tombstones, OnlyARepeatedOneGivesWayToACopy) {
  Tombstones tombstones;
  tombstones.Insert(kX, {Numbered(5), true}, kStart + seconds(60), kStart);
  tombstones.Insert(kY, {Numbered(5)}, kStart + seconds(60), kStart);
  tombstones.EraseIfOlder(kX, Numbered(4));
  EXPECT_NE(tombstones.Until(kX, kStart), std::nullopt);
  tombstones.EraseIfOlder(kX, Numbered(6));
  tombstones.EraseIfOlder(kY, Numbered(6));
  EXPECT_EQ(tombstones.Until(kX, kStart), std::nullopt);
  EXPECT_NE(tombstones.Until(kY, kStart), std::nullopt);
}

TEST(Tombstones, AreClearedAwayAFewAtATime) {
  Tombstones tombstones;
  for (const ObjectId& id : {kX, kY}) tombstones.Insert(id, {Numbered(5)}, kStart, kStart);
  tombstones.Expire(kStart, 1);
  EXPECT_EQ(tombstones.next(), kStart);
  tombstones.Expire(kStart, 1);
  EXPECT_EQ(tombstones.next(), kNever);
  EXPECT_TRUE(tombstones.Consistent());
}

// --- RecoveryWindow

NodeTable Members() {
  NodeTable nodes;
  nodes.Join({kSpeaker, "a", "a:1"}, kStart);
  return nodes;
}

TEST(RecoveryWindow, IsNotThereInAClusterKnownToBeNew) {
  const RecoveryWindow window(kStart, Duration{0}, seconds(60));
  EXPECT_FALSE(window.collecting());
  EXPECT_TRUE(window.KnowsMembers(NodeTable()));
  EXPECT_FALSE(window.KnowsMembers(Members()));  // the inventory of a is open
}

TEST(RecoveryWindow, LastsWhileSomebodyTellsUpToItsLimit) {
  RecoveryWindow window(kStart, seconds(1), seconds(3));
  NodeTable nodes = Members();
  EXPECT_EQ(window.End(NodeTable()), kStart + seconds(1));
  nodes.NoteHeard(kSpeaker, kStart + seconds(1));
  EXPECT_EQ(window.End(nodes), kStart + seconds(2));
  nodes.NoteHeard(kSpeaker, kStart + seconds(9));
  EXPECT_EQ(window.End(nodes), kStart + seconds(3));
  nodes.EndInventory(kSpeaker);
  EXPECT_EQ(window.End(nodes), kStart + seconds(1));
  window.EndIfDue(kStart + seconds(1), nodes);
  EXPECT_FALSE(window.collecting());
}

TEST(RecoveryWindow, GivesBackWhatWaitedInOrder) {
  RecoveryWindow window(kStart, seconds(1), seconds(3));
  window.Defer(kSpeaker, ReduceOpen{kX, 1});
  window.Defer(kOther, EvictAsk{kX, Numbered(1)});
  window.Defer(kSpeaker, Want{kY, Numbered(1)});
  EXPECT_FALSE(window.due());  // it still collects
  window.EndIfDue(kStart + seconds(1), NodeTable());
  EXPECT_TRUE(window.due());

  const auto said = window.Take(kX);
  ASSERT_TRUE(said.has_value());
  ASSERT_THAT(*said, SizeIs(2));
  EXPECT_EQ(said->front().node, kSpeaker);
  EXPECT_EQ(said->back().node, kOther);
  EXPECT_EQ(window.Take(kX), std::nullopt);
  EXPECT_EQ(window.next(), kY);
}

TEST(RecoveryWindow, ForgetsWhatWasSaidInASessionThatEnded) {
  RecoveryWindow window(kStart, seconds(1), seconds(3));
  window.Defer(kSpeaker, ReduceOpen{kX, 1});
  window.EndSession(kSpeaker);
  window.Defer(kSpeaker, ReduceOpen{kX, 2});
  const auto said = window.Take(kX);
  ASSERT_TRUE(said.has_value());
  ASSERT_THAT(*said, SizeIs(1));
  EXPECT_EQ(std::get<ReduceOpen>(said->front().event).request, 2);
}

TEST(RecoveryWindow, ForgetsAWantThatWasTakenBack) {
  RecoveryWindow window(kStart, seconds(1), seconds(3));
  window.Defer(kSpeaker, Want{kX, Numbered(1)});
  window.Defer(kOther, Want{kX, Numbered(1)});
  window.ForgetWants(kSpeaker, kX);
  const auto said = window.Take(kX);
  ASSERT_TRUE(said.has_value());
  ASSERT_THAT(*said, SizeIs(1));
  EXPECT_EQ(said->front().node, kOther);
}

// --- Agenda

TEST(Agenda, LooksAgainWhenWhatAnObjectWaitsForHasHappened) {
  Agenda agenda;
  agenda.AddForMembers(kX);
  agenda.AddForNearness(kY);
  EXPECT_TRUE(agenda.empty());
  agenda.MembersAreKnown();
  EXPECT_EQ(agenda.Take(), kX);
  EXPECT_TRUE(agenda.empty());
  agenda.SomeMayMeetAgain();
  EXPECT_EQ(agenda.Take(), kY);
}

// --- Outbox

TEST(Outbox, SaysNothingToANodeThatGoes) {
  Outbox outbox;
  outbox.Silence(kSpeaker);
  outbox.Add(kSpeaker, InlineFull{kX});
  outbox.Add(kOther, InlineFull{kX});
  outbox.Silence(kNoNode);
  outbox.Add(kSpeaker, InlineFull{kY});
  outbox.DropFor(kOther);
  const std::vector<Action> actions = outbox.Take();
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_EQ(ObjectOf(actions.front().body), kY);
  EXPECT_EQ(outbox.size(), 0);
}

// --- InlineBudget

TEST(InlineBudget, KeepsWhatFitsBothLimits) {
  InlineBudget budget(10, 15);
  const auto bytes = [](std::size_t size) {
    return std::make_shared<const std::string>(size, 'x');
  };
  ObjectRecord first;
  ObjectRecord second;
  EXPECT_FALSE(budget.Keep(first, bytes(11)));
  EXPECT_TRUE(budget.Keep(first, bytes(10)));
  EXPECT_FALSE(budget.Keep(first, bytes(1)));  // it has its bytes
  EXPECT_FALSE(budget.Keep(second, bytes(6)));
  budget.Drop(first);
  EXPECT_TRUE(budget.Keep(second, bytes(6)));
  EXPECT_EQ(budget.total_bytes(), 6);
}

TEST(InlineBudget, MetadataComesBeforeBytesAndHasTheWholeLimit) {
  InlineBudget budget(10, 15);
  const auto bytes = std::make_shared<const std::string>(10, 'x');
  ObjectRecord first;
  ObjectRecord second;
  EXPECT_TRUE(budget.HasRoomFor(first, std::string(15, 'm')));
  EXPECT_FALSE(budget.HasRoomFor(first, std::string(16, 'm')));
  budget.Begin(first, std::string(6, 'm'));
  EXPECT_FALSE(budget.Keep(first, bytes));  // with the metadata it would be 16
  EXPECT_FALSE(budget.HasRoomFor(second, std::string(10, 'm')));
  EXPECT_TRUE(budget.HasRoomFor(first, std::string(15, 'm')));  // instead of what it has
  EXPECT_TRUE(budget.HasRoomFor(second, ""));
  budget.Begin(first, std::string(5, 'm'));
  EXPECT_TRUE(budget.Keep(first, bytes));
  EXPECT_TRUE(budget.HasRoomFor(second, std::string(10, 'm')));
  EXPECT_EQ(budget.total_bytes(), 15);
  budget.Drop(first);
  EXPECT_EQ(budget.total_bytes(), 0);
}

// --- ObjectBook

TEST(ObjectBook, KnowsWhoSpokeOfWhat) {
  ObjectBook objects;
  objects.Touch(kX, kSpeaker);
  objects.Touch(kX, kOther);
  objects.Touch(kY, kSpeaker);
  EXPECT_THAT(objects.Find(kX)->touched, ElementsAre(kSpeaker, kOther));
  EXPECT_TRUE(objects.SpokeOf(kSpeaker, kY));
  EXPECT_FALSE(objects.SpokeOf(kOther, kY));

  objects.Erase(kX);
  EXPECT_EQ(objects.Find(kX), nullptr);
  EXPECT_FALSE(objects.SpokeOf(kSpeaker, kX));
  EXPECT_FALSE(objects.SpokeOf(kOther, kX));
}

TEST(ObjectBook, ASweepTakesWhatANodeSpokeOf) {
  ObjectBook objects;
  objects.Touch(kX, kSpeaker);
  objects.Touch(kY, kSpeaker);
  EXPECT_EQ(objects.TakeSpokenOf(kSpeaker).size(), 2);
  EXPECT_EQ(objects.TakeSpokenOf(kSpeaker).size(), 0);
  objects.Return(kX, kSpeaker);
  EXPECT_TRUE(objects.SpokeOf(kSpeaker, kX));
  objects.Erase(kY);  // of which the node knows nothing for now
  EXPECT_THAT(objects.records(), SizeIs(1));
}

}  // namespace
}  // namespace hoplite::planner
