// A directory of three shards: objects are spread over them, and each shard is on its own.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::ClusterOptions;
using testing::Eventually;
using testing::kSoon;
using testing::Pattern;
using testing::Text;
using namespace std::chrono_literals;

constexpr std::size_t kShards = 3;

ClusterOptions ThreeShards(std::size_t nodes) {
  ClusterOptions options{.nodes = nodes};
  options.directory.shards = kShards;
  return options;
}

// An id that belongs to this shard.
ObjectId IdOn(std::size_t shard) {
  for (;;) {
    const ObjectId id = ObjectId::Random();
    if (directory::ShardOf(id, kShards) == shard) return id;
  }
}

TEST(Sharded, RandomIdsSpreadOverAllShards) {
  std::array<int, kShards> objects{};
  for (int i = 0; i < 3000; ++i) ++objects[directory::ShardOf(ObjectId::Random(), kShards)];
  for (const int count : objects) EXPECT_NEAR(count, 1000, 200);
}

TEST(Sharded, EveryOperationWorksOnEveryShard) {
  Cluster cluster(ThreeShards(3));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    for (const std::uint64_t size : {std::uint64_t{100}, 1_MiB}) {
      const ObjectId id = IdOn(shard);
      auto subscription = cluster.client(2).Subscribe(id);
      ASSERT_TRUE(subscription);
      auto waiting = cluster.client(1).GetAsync(id, kSoon);
      const auto put = cluster.client(0).Put(Pattern(size, shard), {.id = id});
      ASSERT_TRUE(put) << put.error().ToString();
      const auto view = waiting.Wait();
      ASSERT_TRUE(view) << view.error().ToString();
      EXPECT_TRUE(Text(*view) == Pattern(size, shard));
      EXPECT_TRUE(subscription->Next(30s));
      const auto info = cluster.client(2).Info(id, kSoon);
      ASSERT_TRUE(info) << info.error().ToString();
      EXPECT_EQ(info->size_bytes, size);
      ASSERT_TRUE(cluster.client(1).Delete(id, kSoon));
      EXPECT_TRUE(testing::SoonDeleted(cluster.client(0), id));
    }
  }
}

TEST(Sharded, StatusShowsTheObjectsOfAllShards) {
  Cluster cluster(ThreeShards(2));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    ASSERT_TRUE(cluster.client(0).Put(Pattern(1_MiB, shard), {.id = IdOn(shard)}));
  }
  const auto status = cluster.client(1).Status(kSoon);
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(status->objects.size(), kShards);
  EXPECT_EQ(status->nodes.size(), 2u);
}

// What belongs to the others goes on meanwhile, and its own objects are known again afterwards.
TEST(Sharded, OneShardsRestartDisturbsNoOther) {
  constexpr std::size_t kRestarted = 1;
  Cluster cluster(ThreeShards(3));
  std::array<ObjectId, kShards> large;
  std::array<ObjectId, kShards> small;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    large[shard] = *cluster.client(0).Put(Pattern(1_MiB, shard), {.id = IdOn(shard)});
    small[shard] = *cluster.client(0).Put(Pattern(100, shard), {.id = IdOn(shard)});
  }
  for (int round = 0; round < 3; ++round) {
    cluster.directory().Restart(kRestarted);
    for (const std::size_t shard : {0u, 2u}) {
      const ObjectId id = IdOn(shard);
      ASSERT_TRUE(cluster.client(1).Put(Pattern(200'000, shard), {.id = id, .timeout = 10s}));
      const auto view = cluster.client(2).Get(id, kSoon);
      ASSERT_TRUE(view) << view.error().ToString();
      EXPECT_TRUE(Text(*view) == Pattern(200'000, shard));
    }
  }
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    const auto got_large = cluster.client(2).Get(large[shard], kSoon);
    ASSERT_TRUE(got_large) << shard << ": " << got_large.error().ToString();
    EXPECT_TRUE(Text(*got_large) == Pattern(1_MiB, shard));
    const auto got_small = cluster.client(2).Get(small[shard], kSoon);
    ASSERT_TRUE(got_small) << shard << ": " << got_small.error().ToString();
    EXPECT_TRUE(Text(*got_small) == Pattern(100, shard));
  }
}

// Its limit is its own setting, and the node that put the sources is gone.
TEST(Sharded, WhatOnlyTheSourcesShardKeepsIsSummedForATargetOfAnother) {
  ClusterOptions options = ThreeShards(2);
  options.directory.inline_limits = {64_KiB};
  Cluster cluster(options);
  const std::vector<std::int64_t> ones(5000, 1);
  ReduceOptions sum{.dtype = DType::kInt64, .target = IdOn(1), .timeout = 30s};
  for (int i = 0; i < 2; ++i) {
    sum.sources.push_back(IdOn(0));
    const auto put =
        cluster.client(1).Put(std::as_bytes(std::span(ones)), {.id = sum.sources.back()});
    ASSERT_TRUE(put) << put.error().ToString();
  }
  const NodeId putter = cluster.id(1);
  cluster.Stop(1);
  cluster.directory().Lose(putter);
  auto client = cluster.client(0);
  auto reduction = client.Reduce(sum);
  ASSERT_TRUE(reduction) << reduction.error().ToString();
  const auto outcome = reduction->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  const auto target = client.Get(reduction->target(), kSoon);
  ASSERT_TRUE(target) << target.error().ToString();
  const std::vector<std::int64_t> twos(ones.size(), 2);
  EXPECT_TRUE(std::ranges::equal(target->bytes(), std::as_bytes(std::span(twos))));
}

}  // namespace
}  // namespace hoplite
