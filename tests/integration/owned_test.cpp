// Owned objects over real nodes: they go everywhere with their last owner, and not before.
#include <chrono>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "testing/bytes.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using test::CodeOf;
using testing::Cluster;
using testing::Eventually;
using testing::kSoon;
using testing::Pattern;
using testing::Text;
using namespace std::chrono_literals;

// A shard that collects nothing at its start deletes at once; nobody is ever lost.
directory::InProcessDirectory::Options NewCluster() {
  auto options = directory::InProcessDirectory::Patient();
  options.service.planner.orphan_grace = 300ms;
  return options;
}

// One that gives up owners whom it can't know 3 s after it was started again, and a lost node's
// 2.5 s after its last word.
directory::InProcessDirectory::Options OldCluster() {
  directory::InProcessDirectory::Options options;
  options.service.heartbeat = 100ms;
  options.service.lease = 2s;
  options.service.grace = 500ms;
  options.service.planner.recovery_window = 100ms;
  options.service.planner.orphan_grace = 500ms;
  return options;
}
constexpr auto kGivenUp = 3s;

class OwnedTest : public ::testing::Test {
 protected:
  void Begin(std::size_t nodes, directory::InProcessDirectory::Options directory = NewCluster()) {
    cluster_.emplace(testing::ClusterOptions{.nodes = nodes, .directory = std::move(directory)});
  }
  bool Deleted(std::size_t node, const ObjectId& id) {
    return testing::SoonDeleted(cluster_->client(node), id);
  }
  bool Empty(std::size_t node) {
    return Eventually([&] { return cluster_->node(node).usage().used_bytes == 0; }, 30s);
  }
  // All memory is free, and everybody who asks after that is told.
  void ExpectGone(const std::vector<ObjectId>& ids) {
    for (std::size_t node = 0; node < cluster_->size(); ++node) {
      EXPECT_TRUE(Empty(node)) << "node " << node;
    }
    for (std::size_t node = 0; node < cluster_->size(); ++node) {
      for (const ObjectId& id : ids) EXPECT_TRUE(Deleted(node, id)) << "node " << node;
    }
  }
  // So many nodes own it.
  bool Owned(const ObjectId& id, std::uint32_t nodes) {
    return Eventually([&] {
      const auto info = cluster_->client(cluster_->size() - 1).Info(id, kSoon);
      return info && info->ever_owned && info->owners == nodes;
    });
  }

  std::optional<Cluster> cluster_;
  const ObjectId x_ = ObjectId::FromName("x");
  const std::string large_ = Pattern(3_MiB, 1);
};

TEST_F(OwnedTest, WhatAClientOwnsGoesEverywhereWhenItIsClosed) {
  Begin(3);
  Client owner = cluster_->client(0);
  const ObjectId small = *owner.Put("small", {.owned = true});
  const ObjectId large = *owner.Put(large_, {.owned = true});
  for (std::size_t node = 1; node < 3; ++node) {
    EXPECT_EQ(test::Text(cluster_->client(node).Get(small, kSoon)), "small");
    EXPECT_EQ(Text(*cluster_->client(node).Get(large, kSoon)), large_);
  }
  EXPECT_GT(cluster_->node(2).usage().used_bytes, 0u) << "a replica";
  EXPECT_TRUE(Owned(large, 1));
  owner.Close();
  ExpectGone({small, large});
}

TEST_F(OwnedTest, WhatNobodyEverOwnedStays) {
  Begin(2);
  Client owner = cluster_->client(0);
  const ObjectId stays = *owner.Put(large_);
  const ObjectId goes = *owner.Put(large_, {.owned = true});
  owner.Close();
  EXPECT_TRUE(Deleted(1, goes));
  EXPECT_EQ(Text(*cluster_->client(1).Get(stays, kSoon)), large_);
}

TEST_F(OwnedTest, AViewStaysReadableWhenItsObjectGoes) {
  Begin(2);
  Client owner = cluster_->client(0);
  ASSERT_TRUE(owner.Put(large_, {.id = x_, .owned = true}));
  {
    const auto view = cluster_->client(1).Get(x_, kSoon);
    owner.Close();
    EXPECT_TRUE(Deleted(1, x_));
    EXPECT_EQ(Text(*view), large_);
  }
  ExpectGone({x_});
}

TEST_F(OwnedTest, ASecondOwnerKeepsTheObject) {
  Begin(3);
  Client first = cluster_->client(0);
  Client second = cluster_->client(1);
  Client beside = cluster_->client(1);
  ASSERT_TRUE(first.Put(large_, {.id = x_, .owned = true}));
  ASSERT_TRUE(second.Own(x_, kSoon));
  ASSERT_TRUE(beside.Own(x_, kSoon));
  EXPECT_TRUE(Owned(x_, 2)) << "nodes are counted, not clients";
  first.Close();
  EXPECT_TRUE(Owned(x_, 1));
  ASSERT_TRUE(second.Disown(x_, kSoon));
  EXPECT_EQ(Text(*cluster_->client(2).Get(x_, kSoon)), large_);
  ASSERT_TRUE(beside.Disown(x_, kSoon));
  ExpectGone({x_});
  EXPECT_EQ(CodeOf(second.Own(x_, kSoon)), ErrorCode::kDeleted) << "it comes too late";
}

TEST_F(OwnedTest, AGraceIsOfWhatIsOwnedAndNoLongerThanAMark) {
  Begin(1);
  Client client = cluster_->client(0);
  const auto refused = client.Own(x_, {.grace = 90s, .timeout = 60s});
  ASSERT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      refused.error().message,
      "object " + x_.ToHex() +
          ": a grace of 90 s is asked for, but the directory marks a deleted id for 60 s only "
          "(--tombstone), and no grace may be longer");
  for (const std::string& bytes : {std::string("small"), large_}) {
    EXPECT_EQ(CodeOf(client.Put(bytes, {.owned = true, .grace = 61s, .timeout = 60s})),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(CodeOf(client.Put(bytes, {.grace = 1s, .timeout = 60s})),
              ErrorCode::kInvalidArgument);
    const auto put = client.Put(bytes, {.owned = true, .grace = 60s, .timeout = 60s});
    ASSERT_TRUE(put);
    EXPECT_EQ(client.Info(*put, kSoon)->grace, 60s);
    ASSERT_TRUE(client.Own(*put, {.grace = -1s, .timeout = 60s}));
    EXPECT_EQ(client.Info(*put, kSoon)->grace, 0s);
    ASSERT_TRUE(client.Own(*put, kSoon));
    EXPECT_EQ(client.Info(*put, kSoon)->grace, std::nullopt);
  }
}

TEST_F(OwnedTest, WhoReliesOnAnOwnerDoesNotWaitForWhatNobodyOwns) {
  Begin(2);
  Client owner = cluster_->client(0);
  Client other = cluster_->client(1);
  const CallOptions relying{.only_if_owned = true, .timeout = 60s};
  const ObjectId nobodys = ObjectId::Random();
  std::string room(3, ' ');
  EXPECT_EQ(CodeOf(other.Get(nobodys, relying)), ErrorCode::kDeleted);
  EXPECT_EQ(CodeOf(other.GetInto(nobodys, std::as_writable_bytes(std::span(room)), relying)),
            ErrorCode::kDeleted);
  EXPECT_EQ(CodeOf(other.Get(nobodys, {.timeout = 50ms})), ErrorCode::kTimeout);

  ASSERT_TRUE(owner.Own(x_, kSoon));
  EXPECT_EQ(CodeOf(other.WaitExists({{x_, nobodys}}, 2, relying)), ErrorCode::kDeleted);
  const auto reduction =
      other.Reduce({.sources = {x_, nobodys}, .dtype = DType::kUint8, .only_if_owned = true});
  ASSERT_TRUE(reduction);
  EXPECT_EQ(CodeOf(reduction->Wait(60s)), ErrorCode::kDeleted);
  const auto waits = other.GetAsync(x_, relying);
  EXPECT_EQ(CodeOf(other.Get(x_, {.only_if_owned = true, .timeout = 100ms})), ErrorCode::kTimeout);
  owner.Close();
  EXPECT_EQ(CodeOf(waits.Wait()), ErrorCode::kDeleted);
}

TEST_F(OwnedTest, WhoeverWaitsForAnEndIsToldOfIt) {
  Begin(2);
  Client other = cluster_->client(1);
  const ObjectId stays = *other.Put("stays");
  const ObjectId never = ObjectId::FromName("never");
  const auto told_of = [&](const ObjectId& id) {
    return std::async(std::launch::async, [&other, &never, &stays, id] {
      return other.WaitGone({{stays, never, id}}, kSoon);
    });
  };
  Client owner = cluster_->client(0);
  for (const std::string& bytes : {std::string("small"), large_}) {
    const ObjectId id = *owner.Put(bytes, {.owned = true});
    EXPECT_EQ(other.WaitGone({{stays, never, id}}, {.timeout = 20ms}), std::vector<ObjectId>{});
    auto told = told_of(id);
    ASSERT_TRUE(owner.Disown(id, kSoon));
    EXPECT_EQ(told.get(), std::vector{id});
    EXPECT_EQ(other.WaitGone({{stays, id, never}}, kSoon), std::vector{id}) << "it is so already";
  }
  ASSERT_TRUE(owner.Own(x_, kSoon));
  auto told = told_of(x_);
  ASSERT_TRUE(owner.Disown(x_, kSoon)) << "it never existed";
  EXPECT_EQ(told.get(), std::vector{x_});
  EXPECT_EQ(other.WaitGone({{never}}, {.only_if_owned = true, .timeout = 60s}), std::vector{never});
  EXPECT_EQ(CodeOf(other.WaitGone({}, kSoon)), ErrorCode::kInvalidArgument);
}

TEST_F(OwnedTest, AnObjectIsGoneWithItsLastCopy) {
  Begin(3, OldCluster());
  const ObjectId lost = *cluster_->client(0).Put(large_);
  ASSERT_TRUE(cluster_->client(1).Get(lost, kSoon));
  Client other = cluster_->client(2);
  cluster_->Stop(0);
  EXPECT_TRUE(Eventually([&] { return other.Info(lost, kSoon)->holders.size() == 1; }));
  EXPECT_EQ(other.WaitGone({{lost}}, {.timeout = 50ms}), std::vector<ObjectId>{});
  auto told = std::async(std::launch::async, [&] { return other.WaitGone({{lost}}, kSoon); });
  cluster_->Stop(1);
  EXPECT_EQ(told.get(), std::vector{lost});
  EXPECT_EQ(other.WaitGone({{lost}}, kSoon), std::vector{lost}) << "it is so already";
}

TEST_F(OwnedTest, WhatItsMakerNeverMadeWholeIsGoneWithTheMaker) {
  Begin(2, OldCluster());
  Draft draft = *cluster_->client(0).Create(x_, large_.size());
  Client other = cluster_->client(1);
  EXPECT_TRUE(Eventually([&] { return other.Info(x_, kSoon).has_value(); }));
  EXPECT_EQ(other.WaitGone({{x_}}, {.timeout = 50ms}), std::vector<ObjectId>{});
  auto told = std::async(std::launch::async, [&] { return other.WaitGone({{x_}}, kSoon); });
  cluster_->Stop(0);
  EXPECT_EQ(told.get(), std::vector{x_});
}

TEST_F(OwnedTest, AnIdMayBeOwnedBeforeItsObjectExists) {
  Begin(2);
  Client runtime = cluster_->client(0);
  ASSERT_TRUE(runtime.Own(x_, kSoon));
  Client task = cluster_->client(1);
  ASSERT_TRUE(task.Put(large_, {.id = x_, .only_if_owned = true}));
  task.Close();
  EXPECT_EQ(Text(*runtime.Get(x_, kSoon)), large_) << "the task did not own its result";
  ASSERT_TRUE(runtime.Disown(x_, kSoon));
  ExpectGone({x_});
}

TEST_F(OwnedTest, AResultThatNobodyWaitsForIsRefused) {
  Begin(2);
  Client task = cluster_->client(1);
  EXPECT_EQ(CodeOf(task.Put(large_, {.id = x_, .only_if_owned = true, .timeout = 60s})),
            ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(task.Put("small", {.id = x_, .only_if_owned = true, .timeout = 60s})),
            ErrorCode::kNotFound);
  const ObjectId given_up = ObjectId::FromName("given up");
  Client runtime = cluster_->client(0);
  ASSERT_TRUE(runtime.Own(given_up, kSoon));
  ASSERT_TRUE(runtime.Disown(given_up, kSoon));
  EXPECT_TRUE(Deleted(0, given_up));
  EXPECT_EQ(CodeOf(task.Put("late", {.id = given_up, .only_if_owned = true, .timeout = 60s})),
            ErrorCode::kDeleted);
  ExpectGone({});
}

TEST_F(OwnedTest, WhoWaitsForWhatNobodyOwnsAnyMoreIsTold) {
  Begin(2);
  Client owner = cluster_->client(0);
  ASSERT_TRUE(owner.Own(x_, kSoon));
  const auto waits = cluster_->client(1).GetAsync(x_, kSoon);
  EXPECT_TRUE(Eventually([&] {
    const auto info = owner.Info(x_, kSoon);
    return info && !info->waiters.empty();
  }));
  owner.Close();
  EXPECT_EQ(CodeOf(waits.Wait()), ErrorCode::kDeleted);
}

TEST_F(OwnedTest, ARefusedOwnedPutTakesNothingAlong) {
  Begin(2);
  ASSERT_TRUE(cluster_->client(0).Put(large_, {.id = x_}));
  Client second = cluster_->client(1);
  EXPECT_EQ(CodeOf(second.Put(large_, {.id = x_, .owned = true, .timeout = 60s})),
            ErrorCode::kAlreadyExists);
  const ObjectId goes = *second.Put("goes", {.owned = true});
  second.Close();
  EXPECT_TRUE(Deleted(0, goes)) << "its end was heard";
  EXPECT_EQ(Text(*cluster_->client(1).Get(x_, kSoon)), large_);
}

TEST_F(OwnedTest, TheTargetOfAnOwnedReductionGoesItsSourcesStay) {
  Begin(3);
  Client owner = cluster_->client(2);
  std::vector<ObjectId> targets;
  std::vector<ObjectId> sources;
  for (const std::uint64_t size : {1000ull, 3ull * 1024 * 1024}) {  // in the directory; in a tree
    std::vector<ObjectId> pair;
    for (std::size_t node = 0; node < 2; ++node) {
      pair.push_back(*cluster_->client(node).Put(std::string(size, '\1')));
    }
    const auto reduction = owner.Reduce(
        {.sources = pair, .op = Op::kSum, .dtype = DType::kUint8, .owned = true, .timeout = 60s});
    ASSERT_TRUE(reduction);
    const auto outcome = reduction->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_EQ(Text(*cluster_->client(0).Get(outcome->target, kSoon)), std::string(size, '\2'));
    targets.push_back(outcome->target);
    sources.insert(sources.end(), pair.begin(), pair.end());
  }
  owner.Close();
  for (const ObjectId& target : targets) {
    for (std::size_t node = 0; node < 3; ++node) EXPECT_TRUE(Deleted(node, target));
  }
  for (const ObjectId& source : sources) {
    EXPECT_TRUE(cluster_->client(2).Get(source, kSoon));
    ASSERT_TRUE(cluster_->client(2).Delete(source, kSoon));
  }
  ExpectGone({});
}

// --- failures

TEST_F(OwnedTest, AnObjectOutlivesTheDirectoryWhileItsOwnerLives) {
  Begin(2, OldCluster());
  Client owner = cluster_->client(0);
  Client holder = cluster_->client(1);
  ASSERT_TRUE(holder.Put(large_, {.id = x_}));
  ASSERT_TRUE(owner.Own(x_, kSoon));
  cluster_->directory().Restart(0);
  EXPECT_TRUE(Owned(x_, 1));
  std::this_thread::sleep_for(kGivenUp + 500ms);
  EXPECT_EQ(Text(*owner.Get(x_, kSoon)), large_);
  ASSERT_TRUE(owner.Disown(x_, kSoon));
  ExpectGone({x_});
}

// The holder keeps that the object was owned, the owner's node that it owned it.
TEST_F(OwnedTest, WhatWasDisownedWhileTheDirectoryWasAwayGoes) {
  Begin(2, OldCluster());
  Client owner = cluster_->client(0);
  ASSERT_TRUE(cluster_->client(1).Put(large_, {.id = x_}));
  ASSERT_TRUE(owner.Own(x_, kSoon));
  EXPECT_TRUE(Owned(x_, 1));
  {
    const auto away = cluster_->StopDirectory();
    owner.Close();
    cluster_->directory().Restart(0);
  }
  ExpectGone({x_});
}

TEST_F(OwnedTest, WhatALostNodeOwnedGoesAfterTheGrace) {
  Begin(3, OldCluster());
  Client owner = cluster_->client(0);
  ASSERT_TRUE(cluster_->client(1).Put(large_, {.id = x_}));
  ASSERT_TRUE(owner.Own(x_, kSoon));
  EXPECT_EQ(Text(*cluster_->client(2).Get(x_, kSoon)), large_);
  cluster_->Stop(0);
  EXPECT_TRUE(Empty(1));
  EXPECT_TRUE(Empty(2));
}

}  // namespace
}  // namespace hoplite
