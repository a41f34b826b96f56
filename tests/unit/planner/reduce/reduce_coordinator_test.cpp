// What the coordinator of a reduction says to the target's shard, and how the reduction ends.
#include "planner/reduce/reduce_coordinator.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Coordinating : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRequest = 7;
  static ObjectId Source(int i) { return ObjectId::FromName("source " + std::to_string(i)); }
  static ReduceOptions Options(bool everyone_reads = false) {
    ReduceOptions options;
    options.dtype = DType::kFloat32;
    options.everyone_reads = everyone_reads;
    options.target = ObjectId::FromName("target");
    options.sources = {Source(1), Source(2)};
    return options;
  }

  explicit Coordinating(bool everyone_reads = false) : options_(Options(everyone_reads)) {}

  void Hears(const NodeAction& word) { EXPECT_TRUE(coordinator_.Hear(word, now_, said_)); }
  void Open() { Hears(ReduceOpened{options_.target, kRequest, link_}); }
  void Appears(int source, LocationKind kind = LocationKind::kComplete) {
    Location location;
    location.object = Source(source);
    location.node = NodeId(source);
    location.version = Version{{1, 1}};
    location.layout = Layout::For(1 << 20, 4);
    location.kind = kind;
    Hears(location);
  }
  // What it says from here on, in words; the time of its first look at what came is over.
  std::vector<std::string> Says() {
    now_ += std::chrono::seconds(1);
    coordinator_.Plan(now_, said_);
    std::vector<std::string> words;
    for (const NodeEvent& event : std::exchange(said_, {})) {
      if (std::holds_alternative<ReduceShape>(event)) words.emplace_back("shape");
      const auto* orders = std::get_if<ReduceOrders>(&event);
      if (orders == nullptr) continue;
      words.push_back(orders->plan != 0
                          ? "plan of " + std::to_string(orders->orders.size())
                          : "assign " + std::to_string(orders->orders.front().order.slot));
    }
    return words;
  }
  ReduceCommitted Commit(std::uint64_t request = kRequest) const {
    return {options_.target, Version{{1, 5}}, request, options_.sources};
  }

  const ReduceOptions options_;
  const LinkModel link_{
      .latency = std::chrono::microseconds(100), .overhead = Duration{0}, .bytes_per_second = 1e9};
  ReduceCoordinator coordinator_{options_, NodeId(1000), kRequest};
  ReduceCoordinator::Events said_;
  Time now_ = Time(std::chrono::hours(1));
};

TEST_F(Coordinating, OrdersFollowTheShardsAnswerAndTheSources) {
  EXPECT_EQ(coordinator_.Request().request, kRequest);
  Appears(1);
  Appears(2);
  EXPECT_THAT(Says(), IsEmpty());  // nobody takes orders yet
  Open();
  EXPECT_THAT(Says(), ElementsAre("shape", "assign 1", "assign 2"));
  EXPECT_FALSE(coordinator_.Outcome());
}

TEST_F(Coordinating, RepeatsItsOrdersToAShardThatOpensItAgain) {
  Open();
  Appears(1);
  Appears(2);
  Says();
  Open();
  EXPECT_THAT(Says(), ElementsAre("shape", "assign 1", "assign 2"));
}

class CoordinatingAll : public Coordinating {
 protected:
  CoordinatingAll() : Coordinating(true) {}
};

TEST_F(CoordinatingAll, APlanByStripesIsSaidAndRepeatedAsOne) {
  Open();
  Appears(1);
  Appears(2);
  EXPECT_THAT(Says(), ElementsAre("shape", "plan of 4"));
  Open();
  EXPECT_THAT(Says(), ElementsAre("shape", "plan of 4"));
}

TEST_F(CoordinatingAll, ALossIsAnsweredWithAPlanThatTakesItsPlace) {
  Open();
  Appears(1);
  Appears(2);
  coordinator_.Plan(now_, said_);
  const PlannedOrder lost = std::get<ReduceOrders>(said_.at(1)).orders.front();
  said_.clear();
  Hears(SlotLost{options_.target, kRequest, lost.attempt, lost.order.slot, ErrorCode::kRecalled,
                 "put again elsewhere"});
  EXPECT_THAT(Says(), ElementsAre("plan of 2"));  // a tree: one source, and the vacant root
}

TEST_F(Coordinating, WordsAboutAnotherRequestChangeNothing) {
  Hears(ReduceOpened{options_.target, kRequest + 1, link_});
  EXPECT_FALSE(coordinator_.opened());
  Hears(ReduceRefused{options_.target, kRequest + 1, ErrorCode::kDeleted, "deleted"});
  Hears(Commit(kRequest + 1));
  EXPECT_FALSE(coordinator_.Outcome());
}

TEST_F(Coordinating, WordsForOthersAreNotTaken) {
  EXPECT_FALSE(coordinator_.Hear(SlotAssigned{.object = options_.target}, now_, said_));
  EXPECT_FALSE(coordinator_.Hear(Recall{options_.target, Version{{1, 5}}}, now_, said_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(Coordinating, ACommitIsTheOutcomeAndNothingIsOrderedAfterIt) {
  Open();
  Appears(1);
  Appears(2);
  Hears(Commit());
  EXPECT_THAT(Says(), IsEmpty());
  ASSERT_TRUE(coordinator_.Outcome());
  EXPECT_EQ(coordinator_.Outcome()->value(), options_.sources);
  ASSERT_TRUE(coordinator_.Close(nullptr));
  EXPECT_EQ(coordinator_.Close(nullptr)->request, kRequest);
}

TEST_F(Coordinating, ARefusalIsTheOutcomeAndNeedsNoLastWord) {
  Hears(ReduceRefused{options_.target, kRequest, ErrorCode::kAlreadyExists, "it exists"});
  ASSERT_TRUE(coordinator_.Outcome());
  EXPECT_EQ(coordinator_.Outcome()->error().code, ErrorCode::kAlreadyExists);
  EXPECT_FALSE(coordinator_.Close(&coordinator_.Outcome()->error()));
}

TEST_F(Coordinating, GivingUpTellsTheReason) {
  Open();
  const Error late(ErrorCode::kTimeout, "source 2 is missing");
  const auto close = coordinator_.Close(&late);
  ASSERT_TRUE(close);
  EXPECT_EQ(close->code, ErrorCode::kTimeout);
  EXPECT_EQ(close->message, "source 2 is missing");
}

TEST_F(Coordinating, TooManyDeletedSourcesAreItsEnd) {
  Open();
  coordinator_.OnDeleted(Source(2));
  ASSERT_TRUE(coordinator_.Outcome());
  EXPECT_FALSE(coordinator_.Outcome()->has_value());
}

TEST_F(Coordinating, HoldersOfAnEndedSessionCountOnlyWhenToldAgain) {
  Open();
  Appears(1);
  Appears(2);
  coordinator_.ForgetHolders();
  EXPECT_THAT(Says(), IsEmpty());
  Appears(1);
  Appears(2);
  EXPECT_THAT(Says(), ElementsAre("shape", "assign 1", "assign 2"));
}

TEST_F(Coordinating, ACopyThatOnlyGrowsIsNoSource) {
  Open();
  Appears(1, LocationKind::kPartial);
  Appears(2);
  EXPECT_THAT(Says(), ElementsAre("shape", "assign 1"));  // the other one's slot
}

// --- small sources that the target's shard may keep

class CoordinatingSmall : public Coordinating {
 protected:
  using Way = ReduceCoordinator::SmallWay;
  CoordinatingSmall() { coordinator_.AskShardToFold(options_); }
  void IsKept(int source, std::uint64_t size = 1000, NodeId node = kNoNode) {
    Location location{.object = Source(source), .version = Version{{1, 1}}, .node = node};
    location.kind = node == kNoNode ? LocationKind::kInline : LocationKind::kComplete;
    location.layout = Layout::For(size);
    Hears(location);
  }
};

TEST_F(CoordinatingSmall, TheShardIsAskedAndMayCommitAtOnce) {
  const ReduceOpen request = coordinator_.Request();
  EXPECT_EQ(request.shard_fold.sources, options_.sources);
  EXPECT_EQ(request.shard_fold.fold.sources, 2U);
  ReduceCommitted commit = Commit();
  commit.bytes = std::make_shared<const std::string>("sum");
  Hears(commit);
  EXPECT_EQ(**coordinator_.Outcome(), options_.sources);
  EXPECT_EQ(*coordinator_.folded()->bytes, "sum");
  EXPECT_TRUE(coordinator_.Close(nullptr));
}

TEST_F(CoordinatingSmall, ItIsAskedOnceMoreWhenTheSourcesHaveCome) {
  Open();
  IsKept(1);
  EXPECT_EQ(coordinator_.NextOfSmall(), Way::kWait);
  IsKept(2);
  EXPECT_EQ(coordinator_.NextOfSmall(), Way::kAsk);
  EXPECT_EQ(coordinator_.NextOfSmall(), Way::kWait);
  EXPECT_TRUE(coordinator_.asks_shard());
  Open();  // it can't
  EXPECT_EQ(coordinator_.NextOfSmall(), Way::kFetch);
  EXPECT_THAT(coordinator_.Request().shard_fold.sources, IsEmpty());
}

TEST_F(CoordinatingSmall, WhatTheDirectoryDoesNotKeepIsFetched) {
  Open();
  IsKept(1);
  IsKept(2, 1000, NodeId(2));
  EXPECT_EQ(coordinator_.NextOfSmall(), Way::kFetch);
  EXPECT_FALSE(coordinator_.asks_shard());
}

TEST_F(CoordinatingSmall, MoreThanTheShardFoldsInATurnIsFetched) {
  Open();
  IsKept(1, ShardFold::kMostBytes / 2 + 4);
  EXPECT_EQ(coordinator_.NextOfSmall(), Way::kFetch);
}

TEST_F(CoordinatingSmall, APlanIsNotFoldedByTheShard) {
  Open();
  Appears(1);
  Appears(2);
  Says();
  EXPECT_THAT(coordinator_.Request().shard_fold.sources, IsEmpty());
}

TEST_F(Coordinating, TheShardIsNotAskedWithoutNeed) {
  EXPECT_THAT(coordinator_.Request().shard_fold.sources, IsEmpty());
  ReduceOptions many = options_;
  for (std::size_t i = 0; i <= ShardFold::kMostSources; ++i) {
    many.sources.push_back(Source(static_cast<int>(i)));
  }
  coordinator_.AskShardToFold(many);
  EXPECT_FALSE(coordinator_.asks_shard());
}

}  // namespace
}  // namespace hoplite::planner
