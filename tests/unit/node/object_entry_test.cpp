// What a node remembers of one object beside its bytes.
#include "node/core/object_entry.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// --- deletion

TEST(Deletion, BlocksTheIdUntilItsTime) {
  const Time now(1h);
  Deletion deletion;
  EXPECT_FALSE(deletion.blocks(now)) << "nobody deleted it";
  deletion.Confirm(now + 10s, {{1, 5}});
  EXPECT_TRUE(deletion.blocks(now + 9s));
  EXPECT_FALSE(deletion.blocks(now + 10s));
  EXPECT_EQ(deletion.version(), (Version{{1, 5}}));
}

TEST(Deletion, CountsConfirmationsSoThatACallKnowsItsOwn) {
  Deletion deletion;
  deletion.Confirm(Time(1h), {});
  const std::uint64_t before = deletion.confirmed();
  deletion.Confirm(Time(1h), {});
  EXPECT_NE(deletion.confirmed(), before) << "although nothing else changed";
}

TEST(Deletion, IsRepeatedWhileAnyCallWaits) {
  Deletion deletion;
  EXPECT_FALSE(deletion.asked());
  deletion.Ask();
  deletion.Ask();
  deletion.AskNoMore();
  EXPECT_TRUE(deletion.asked());
  deletion.AskNoMore();
  EXPECT_FALSE(deletion.asked());
}

// --- followers

protocol::Location LocationAt(std::uint64_t node, protocol::LocationKind kind) {
  return {.node = NodeId{node}, .kind = kind};
}
const auto kPartial = protocol::LocationKind::kPartial;
const auto kComplete = protocol::LocationKind::kComplete;
const auto kGone = protocol::LocationKind::kGone;

// Notes what it is told.
struct Follower {
  std::vector<std::string> Told() { return std::exchange(told, {}); }

  std::vector<std::string> told;
  std::shared_ptr<Subscriber> subscriber = std::make_shared<Subscriber>(Subscriber{
      .on_location =
          [this](const protocol::Location& location) {
            const char* const what = location.kind == kComplete  ? "complete at "
                                     : location.kind == kPartial ? "partial at "
                                                                 : "gone at ";
            told.push_back(what + std::to_string(Raw(location.node)));
          },
      .on_deleted = [this] { told.emplace_back("deleted"); },
      .on_forgotten =
          [this](NodeId node) { told.push_back("perhaps gone at " + std::to_string(Raw(node))); },
  });
};

TEST(Followers, TheFirstSubscribesAndTheLastUnsubscribes) {
  Followers followers;
  EXPECT_FALSE(followers.any());
  Follower first;
  Follower second;
  EXPECT_TRUE(followers.Add(first.subscriber));
  EXPECT_FALSE(followers.Add(second.subscriber)) << "the shard tells this node already";
  first.subscriber.reset();
  EXPECT_FALSE(followers.Sweep());
  second.subscriber.reset();
  EXPECT_FALSE(followers.any());
  EXPECT_TRUE(followers.Sweep());
}

TEST(Followers, PlacesAreTheNewestOfEachNode) {
  Followers followers;
  Follower one;
  followers.Add(one.subscriber);
  followers.Tell(LocationAt(2, kPartial));
  followers.Tell(LocationAt(3, kComplete));
  followers.Tell(LocationAt(2, kComplete));
  followers.Tell(LocationAt(3, kGone));
  EXPECT_THAT(one.Told(),
              ElementsAre("partial at 2", "complete at 3", "complete at 2", "gone at 3"));
  ASSERT_EQ(followers.places().size(), 1u);
  EXPECT_EQ(followers.places().at(NodeId{2}).kind, kComplete);
}

TEST(Followers, WhenTheSessionEndsEachKnownPlaceMayBeGone) {
  Followers followers;
  Follower one;
  followers.Add(one.subscriber);
  followers.Tell(LocationAt(2, kComplete));
  followers.Tell(LocationAt(3, kPartial));
  one.Told();
  followers.Forget();
  EXPECT_THAT(one.Told(), ElementsAre("perhaps gone at 2", "perhaps gone at 3"));
  followers.Forget();
  EXPECT_THAT(one.Told(), IsEmpty()) << "none is known any more";
}

TEST(Followers, ADeletedObjectHasNoPlaces) {
  Followers followers;
  Follower one;
  followers.Add(one.subscriber);
  followers.Tell(LocationAt(2, kComplete));
  one.Told();
  followers.TellDeleted();
  EXPECT_THAT(one.Told(), ElementsAre("deleted"));
  EXPECT_THAT(followers.places(), IsEmpty());
}

TEST(Followers, PlacesAreForgottenWithTheLastFollower) {
  Followers followers;
  Follower one;
  followers.Add(one.subscriber);
  followers.Tell(LocationAt(2, kComplete));
  one.subscriber.reset();
  followers.Sweep();
  EXPECT_THAT(followers.places(), IsEmpty()) << "nobody tells of what happens to them";
}

TEST(Followers, WhoeverIsToldMayLeaveOrBringOthers) {
  Followers followers;
  Follower late;
  std::shared_ptr<Subscriber> leaves;
  leaves = std::make_shared<Subscriber>(Subscriber{.on_location = [&](const protocol::Location&) {
    followers.Add(late.subscriber);
    leaves.reset();
    followers.Sweep();
  }});
  Follower stays;
  followers.Add(leaves);
  followers.Add(stays.subscriber);
  followers.Tell(LocationAt(2, kComplete));
  EXPECT_THAT(stays.Told(), ElementsAre("complete at 2"));
  EXPECT_THAT(late.Told(), IsEmpty()) << "from the next one on";
  followers.Tell(LocationAt(2, kGone));
  EXPECT_THAT(late.Told(), ElementsAre("gone at 2"));
}

// --- the entry

TEST(ObjectEntry, IsForgottenOnlyWhenNothingIsToBeRemembered) {
  const Time now(1h);
  ObjectEntry entry(ObjectId::FromName("x"));
  EXPECT_TRUE(entry.idle(now));
  const auto remembered = [&](const char* what) { EXPECT_FALSE(entry.idle(now)) << what; };

  entry.withdrawal().Begin(1);
  remembered("a Put that is to be taken back");
  entry.withdrawal().Ends({.object = entry.object, .code = ErrorCode::kCancelled});
  entry.deletion().Ask();
  remembered("a Delete that is under way");
  entry.deletion().AskNoMore();
  entry.CountOutgoing(+1);
  remembered("a stream from here");
  entry.CountOutgoing(-1);
  Follower one;
  entry.followers().Add(one.subscriber);
  remembered("a follower");
  one.subscriber.reset();
  EXPECT_TRUE(entry.idle(now));

  entry.deletion().Confirm(now + 1s, {});
  remembered("a tombstone");
  EXPECT_TRUE(entry.idle(now + 1s)) << "which ends";
}

}  // namespace
}  // namespace hoplite::node
