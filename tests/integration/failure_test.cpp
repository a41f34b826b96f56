// Members that die, objects that are put again: real nodes over TCP, the directory in this process.
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

constexpr std::uint64_t kSlow = 8'000'000;

// A node that stops is suspended at once, and lost soon after.
ClusterOptions WithShortGrace(std::size_t nodes) {
  ClusterOptions options{.nodes = nodes, .rate_bytes_per_second = kSlow};
  options.directory.service.grace = 200ms;
  return options;
}

std::uint64_t Received(Cluster& cluster, std::size_t i) {
  return cluster.node(i).counters().bytes_received;
}

// With a second complete copy the survivors resume at their marks, whoever dies.
TEST(Failure, ReceiversResumeWhenTheirSourceDies) {
  Cluster cluster({.nodes = 5, .rate_bytes_per_second = kSlow});
  const std::string bytes = Pattern(4_MiB, 1);
  const auto id = cluster.client(0).Put(bytes);
  ASSERT_TRUE(cluster.client(1).Get(*id, kSoon));
  std::vector<Future<Buffer>> waiting;
  for (std::size_t i = 2; i < 5; ++i) waiting.push_back(cluster.client(i).GetAsync(*id, kSoon));
  ASSERT_TRUE(Eventually([&] { return Received(cluster, 2) > 1_MiB; }));
  cluster.Stop(0);
  for (auto& future : waiting) {
    const auto view = future.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == bytes);
  }
  for (std::size_t i = 2; i < 5; ++i) EXPECT_LT(Received(cluster, i), 2 * bytes.size());
}

TEST(Failure, ALineHealsWhenItsMiddleDies) {
  Cluster cluster({.nodes = 5, .rate_bytes_per_second = kSlow});
  const std::string bytes = Pattern(4_MiB, 2);
  const auto id = cluster.client(0).Put(bytes);
  std::vector<Future<Buffer>> waiting;
  for (std::size_t i = 1; i < 5; ++i) waiting.push_back(cluster.client(i).GetAsync(*id, kSoon));
  ASSERT_TRUE(Eventually([&] { return Received(cluster, 4) > 512_KiB; }));
  cluster.Stop(2);
  for (const std::size_t i : {1u, 3u, 4u}) {
    const auto view = waiting[i - 1].Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == bytes);
  }
}

// A task that runs again may put other bytes under the same id: nobody may return a mixture.
TEST(Failure, APrefixOfALostVersionIsNeverMixedWithTheNext) {
  Cluster cluster(WithShortGrace(4));
  const ObjectId id = ObjectId::FromName("again");
  const std::string first = Pattern(4_MiB, 3);
  const std::string second = Pattern(4_MiB, 4);
  ASSERT_TRUE(cluster.client(0).Put(first, {.id = id}));
  std::vector<Future<Buffer>> waiting;
  for (const std::size_t i : {1u, 2u}) waiting.push_back(cluster.client(i).GetAsync(id, kSoon));
  ASSERT_TRUE(Eventually([&] { return Received(cluster, 2) > 512_KiB; }));
  cluster.Stop(0);
  const auto put = cluster.client(3).Put(second, {.id = id, .timeout = 30s});
  ASSERT_TRUE(put) << put.error().ToString();
  for (auto& future : waiting) {
    const auto view = future.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == second);
  }
}

TEST(Failure, AGetWhoseLastHolderDiedNamesItAtItsDeadline) {
  Cluster cluster(WithShortGrace(2));
  const auto id = cluster.client(0).Put(Pattern(4_MiB, 5));
  auto waiting = cluster.client(1).GetAsync(*id, {.timeout = 4s});
  ASSERT_TRUE(Eventually([&] { return Received(cluster, 1) > 512_KiB; }));
  cluster.Stop(0);
  const auto view = waiting.Wait();
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::kTimeout);
  EXPECT_NE(view.error().message.find("n0"), std::string::npos) << view.error().message;
}

TEST(Failure, AReaderWhoseLastHolderDiedNamesItAtItsDeadline) {
  Cluster cluster(WithShortGrace(2));
  const auto id = cluster.client(0).Put(Pattern(4_MiB, 5));
  auto reader = cluster.client(1).Open(*id, kSoon);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->WaitFor(256_KiB, 30s));
  cluster.Stop(0);
  const auto all = reader->WaitFor(reader->size(), 3s);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::kTimeout);
  EXPECT_NE(all.error().message.find("n0"), std::string::npos) << all.error().message;
}

TEST(Failure, TransfersGoOnWhileTheDirectoryRestarts) {
  Cluster cluster({.nodes = 4, .rate_bytes_per_second = kSlow});
  const std::string bytes = Pattern(4_MiB, 6);
  const auto id = cluster.client(0).Put(bytes);
  std::vector<Future<Buffer>> waiting;
  for (std::size_t i = 1; i < 4; ++i) waiting.push_back(cluster.client(i).GetAsync(*id, kSoon));
  ASSERT_TRUE(Eventually([&] { return Received(cluster, 3) > 512_KiB; }));
  cluster.directory().Restart(0);
  const auto late = cluster.Add({.memory_bytes = 64_MiB});
  waiting.push_back(cluster.client(late).GetAsync(*id, kSoon));
  for (auto& future : waiting) {
    const auto view = future.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == bytes);
  }
}

TEST(Failure, AnAbortedPutLeavesItsWaitersWaitingForTheNext) {
  Cluster cluster({.nodes = 3});
  const ObjectId id = ObjectId::Random();
  {
    auto draft = cluster.client(0).Create(id, 2_MiB);
    ASSERT_TRUE(draft);
    ASSERT_TRUE(draft->Advance(1_MiB));
    auto reader = cluster.client(1).Open(id, kSoon);
    ASSERT_TRUE(reader);
    ASSERT_TRUE(reader->WaitFor(512_KiB, 30s));
  }
  auto waiting = cluster.client(1).GetAsync(id, kSoon);
  const std::string bytes = Pattern(3_MiB, 7);
  const auto put = cluster.client(2).Put(bytes, {.id = id, .timeout = 30s});
  ASSERT_TRUE(put) << put.error().ToString();
  const auto view = waiting.Wait();
  ASSERT_TRUE(view) << view.error().ToString();
  EXPECT_TRUE(Text(*view) == bytes);
}

// The slow link alone would take minutes, longer than anybody here waits: those behind it can only
// be done because they passed it, however busy the machine is.
TEST(Failure, NobodyWaitsForASlowRelay) {
  constexpr std::uint64_t kSize = 16_MiB;
  Cluster cluster({.nodes = 1, .memory_bytes = 20_MiB, .rate_bytes_per_second = kSlow});
  const auto add = [&](std::uint64_t rate) {
    return cluster.Add({.memory_bytes = 20_MiB, .rate_bytes_per_second = rate});
  };
  const auto id = cluster.client(0).Put(Pattern(kSize, 1));
  std::vector<Future<Buffer>> fast;
  const auto get = [&](std::size_t node) {
    fast.push_back(cluster.client(node).GetAsync(*id, kSoon));
    return Eventually([&] { return Received(cluster, node) > 0; });
  };
  // The shard must see what the first one can carry before the slow one comes, which might take its
  // place in the line otherwise: where nothing is known of anybody, nobody is passed.
  const std::size_t first = add(kSlow);
  ASSERT_TRUE(get(first));
  ASSERT_TRUE(Eventually([&] { return Received(cluster, first) > kSize / 8; }));
  const std::size_t slow = add(kSlow / 100);
  auto last = cluster.client(slow).GetAsync(*id, kSoon);
  ASSERT_TRUE(Eventually([&] { return Received(cluster, slow) > 0; }));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(get(add(kSlow)));
  for (auto& each : fast) {
    const auto view = each.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == Pattern(kSize, 1));
  }
  EXPECT_LT(Received(cluster, slow), kSize / 2);
  last.Cancel();
}

}  // namespace
}  // namespace hoplite
