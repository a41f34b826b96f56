// Channels whose publisher's node, or a directory shard, was away: what is gone is sent again, and what
// was not published goes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "client/channel/head.h"
#include "directory/directory_client.h"
#include "testing/bytes.h"
#include "testing/cluster.h"
#include "testing/directory_cluster.h"

namespace hoplite {
namespace {

using test::CodeOf;
using test::Eventually;
using testing::Cluster;
using testing::kSoon;
using namespace std::chrono_literals;

// Nobody is lost unless a test says so, and then everything soon.
directory::InProcessDirectory::Options BriefGraces() {
  auto options = directory::InProcessDirectory::Patient();
  options.service.planner.orphan_grace = 100ms;
  options.service.planner.tombstone = 1s;
  return options;
}

class ChannelLosses : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kBound = 60s;

  static VersionOptions AtLeast(std::uint64_t version) {
    return {.at_least = version, .timeout = kBound};
  }
  void Begin(std::size_t nodes, const directory::InProcessDirectory::Options& directory) {
    cluster_.emplace(
        testing::ClusterOptions{.nodes = nodes, .memory_bytes = 32_MiB, .directory = directory});
  }
  Channel Open(std::size_t node, bool deltas = false) {
    return *cluster_->client(node).OpenChannel("it", {.deltas = deltas, .timeout = kBound});
  }
  // One element differs from the last version's.
  Result<std::uint64_t> Publish(Channel& channel, std::chrono::milliseconds timeout = kBound) {
    weights_[++changes_ * 100] = 7;
    return channel.Publish(
        std::vector<Part>{
            {.name = "w", .bytes = std::as_bytes(std::span(weights_)), .dtype = "float32"},
            {.name = "same", .bytes = std::as_bytes(std::span(same_)), .dtype = "float32"}},
        {.timeout = timeout});
  }
  void ExpectRead(const Channel& reader, std::uint64_t version) {
    const Result<Snapshot> got = reader.Get(AtLeast(version));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->version(), version);
    EXPECT_TRUE(std::ranges::equal(*got->Find("w")->as<float>(), weights_));
    EXPECT_TRUE(std::ranges::equal(*got->Find("same")->as<float>(), same_));
  }
  std::vector<ObjectId> Objects(const Channel& reader) {
    std::vector<ObjectId> ids;
    const Result<Snapshot> snapshot = reader.Get(AtLeast(0));
    for (const Buffer& object : snapshot->objects()) ids.push_back(object.id());
    return ids;
  }
  bool SoonAnswers(const std::vector<ObjectId>& ids, ErrorCode code) {
    return Eventually(
        [&] {
          const auto infos = cluster_->client(1).Info(std::span(ids), kSoon);
          return std::ranges::all_of(infos, [&](const auto& info) { return CodeOf(info) == code; });
        },
        kBound);
  }

  std::optional<Cluster> cluster_;
  std::vector<float> weights_ = std::vector<float>(30'000, 1);
  std::vector<float> same_ = std::vector<float>(20'000, 2);
  std::size_t changes_ = 0;
};

class GoneVersions : public ChannelLosses, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutDeltas, GoneVersions, ::testing::Bool());

TEST_P(GoneVersions, WhatIsGoneAfterALongAbsenceIsSentAgain) {
  Begin(2, BriefGraces());
  Channel trainer = Open(0, GetParam());
  const Channel reader = Open(1);
  for (std::uint64_t version = 1; version <= 3; ++version) ASSERT_TRUE(Publish(trainer));
  ExpectRead(reader, 3);
  const std::vector<ObjectId> objects = Objects(reader);
  const NodeId lost = cluster_->id(0);
  cluster_->directory().Lose(lost);
  ASSERT_TRUE(SoonAnswers(objects, ErrorCode::kDeleted));
  cluster_->directory().Reconnect(lost);
  ASSERT_EQ(*Publish(trainer), 4U);
  ExpectRead(reader, 4);
  ASSERT_EQ(*Publish(trainer), 5U);
  ExpectRead(reader, 5);
}

// Then an id can be owned again that nobody has.
TEST_P(GoneVersions, WhatIsGoneAndForgottenIsSentAgain) {
  Begin(2, BriefGraces());
  Channel trainer = Open(0, GetParam());
  const Channel reader = Open(1);
  for (std::uint64_t version = 1; version <= 3; ++version) ASSERT_TRUE(Publish(trainer));
  ExpectRead(reader, 3);
  const std::vector<ObjectId> objects = Objects(reader);
  ASSERT_TRUE(cluster_->client(1).Delete(std::span(objects), kSoon));
  ASSERT_TRUE(SoonAnswers(objects, ErrorCode::kNotFound));
  ASSERT_EQ(*Publish(trainer), 4U);
  ExpectRead(reader, 4);
}

TEST_F(ChannelLosses, ASuccessorOfAVersionThatIsGoneAndForgottenListsNothing) {
  Begin(2, BriefGraces());
  Channel trainer = Open(0);
  const Channel reader = Open(1);
  ASSERT_TRUE(Publish(trainer));
  const std::vector<ObjectId> objects = Objects(reader);
  ASSERT_TRUE(cluster_->client(1).Delete(std::span(objects), kSoon));
  ASSERT_TRUE(SoonAnswers(objects, ErrorCode::kNotFound));
  Channel successor =
      *cluster_->client(1).OpenChannel("it", {.take_over = true, .timeout = kBound});
  const Register head = *cluster_->client(1).OpenRegister("it", kSoon);
  EXPECT_TRUE((*client::HeadOf(*head.Get(kSoon)))->objects.empty());
  ASSERT_EQ(*Publish(successor), 2U);
  ExpectRead(reader, 2);
}

// A shard that started again says nothing of registers for the lease and the grace: so long moves have
// no answer.
TEST_F(ChannelLosses, WhatWasNotPublishedInTimeGoes) {
  auto directory = directory::InProcessDirectory::Patient();
  directory.service.lease = 2s;
  directory.service.grace = 1s;
  directory.service.planner.recovery_window = 100ms;
  directory.service.planner.orphan_grace = 100ms;
  Begin(1, directory);
  Channel trainer = Open(0);
  weights_.resize(1'000'000, 3);
  ASSERT_EQ(*Publish(trainer), 1U);
  const std::uint64_t of_one = cluster_->node(0).usage().used_bytes;
  cluster_->directory().Restart(0);
  std::size_t timeouts = 0;
  std::optional<std::uint64_t> published;
  EXPECT_TRUE(Eventually(
      [&] {
        const auto version = Publish(trainer, 100ms);
        EXPECT_TRUE(version || version.error().code == ErrorCode::kTimeout)
            << version.error().message;
        if (!version) ++timeouts;
        EXPECT_LE(cluster_->node(0).usage().used_bytes, 3 * of_one);
        if (version && timeouts > 0) published = *version;
        return published || HasFailure();
      },
      kBound));
  ASSERT_TRUE(published);
  ExpectRead(trainer, *published);
  trainer.Close();
  EXPECT_TRUE(Eventually([&] { return cluster_->node(0).usage().used_bytes == 0; }, kBound));
}

// The new version lists an object again whose shard can't say whether it is there.
TEST(ChannelOfTwoShards, WhatIsMadeWhileAShardIsAwayGoes) {
  auto options = test::DirectoryCluster::Patient();
  options.lease = 1s;
  options.grace = 1s;
  options.orphan_grace = 1s;
  test::DirectoryCluster shards(2, options);
  NodeConfig config{.directory = shards.addresses(), .listen = "127.0.0.1:0"};
  config.memory_bytes = 32_MiB;
  const auto node = *node::Node::Start(config, node::Environment());
  Client client = testing::ClientOf(*node);
  Channel trainer = *client.OpenChannel("it", {.timeout = 60s});
  const std::size_t of_register = directory::ShardOf(ObjectId::FromName("it"), 2);
  const std::vector<float> same(500'000, 2);
  std::vector<float> weights(1'000'000, 3);
  const auto publish = [&](std::chrono::milliseconds timeout, const std::vector<float>& second) {
    weights[0] += 1;
    return trainer.Publish(
        std::vector<Part>{
            {.name = "w", .bytes = std::as_bytes(std::span(weights)), .dtype = "float32"},
            {.name = "same", .bytes = std::as_bytes(std::span(second)), .dtype = "float32"}},
        {.timeout = timeout});
  };
  std::size_t of_object = of_register;
  for (float other = 0; of_object == of_register; ++other) {
    ASSERT_TRUE(publish(60s, std::vector<float>(500'000, other)));
    ASSERT_TRUE(publish(60s, same));
    const Snapshot last = *trainer.Get({.timeout = 60s});
    of_object = directory::ShardOf(last.objects().front().id(), 2);
  }
  const std::uint64_t before = node->usage().used_bytes;
  shards.StopShard(of_object);
  for (std::size_t timeouts = 0; timeouts < 16;) {
    if (!publish(250ms, same)) ++timeouts;
  }
  shards.StartShard(of_object);
  ASSERT_TRUE(publish(60s, same));
  EXPECT_TRUE(Eventually([&] { return node->usage().used_bytes <= before + 6'100'000; }, 60s));
  trainer.Close();
  EXPECT_TRUE(Eventually([&] { return node->usage().used_bytes == 0; }, 60s));
}

}  // namespace
}  // namespace hoplite
