// Reductions over real nodes and TCP on the loopback, with the directory in the same process.
#include <vector>

#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::IdOf;
using testing::Ids;
using testing::kSoon;
using testing::PutSource;
using testing::Sum;
using testing::WrongSum;
using namespace std::chrono_literals;

struct Case {
  std::size_t nodes;
  std::size_t sources;  // source i lies on node i % nodes
  std::size_t elements;
  std::uint32_t degree;
};

class ReduceOf : public ::testing::TestWithParam<Case> {};

TEST_P(ReduceOf, AllSourcesCountOnce) {
  const auto [nodes, sources, elements, degree] = GetParam();
  Cluster cluster({.nodes = nodes, .memory_bytes = elements > 1'000'000 ? 160_MiB : 32_MiB});
  for (std::size_t i = 0; i < sources; ++i) PutSource(cluster.client(i % nodes), i, elements);
  auto options = Sum(sources);
  options.degree = degree;
  auto client = cluster.client(nodes - 1);
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->used, options.sources);
  EXPECT_TRUE(outcome->unused.empty());
  for (std::size_t i = 0; i < nodes; ++i) {
    EXPECT_EQ(WrongSum(cluster.client(i).Get(sum->target(), kSoon), outcome->used, elements), "");
  }
}

// Around the inline limit (2,048 elements), the block, and two streams per child; placements of
// every kind; every degree.
INSTANTIATE_TEST_SUITE_P(
    Cases, ReduceOf,
    ::testing::Values(Case{1, 1, 100, 0}, Case{1, 1, 100'000, 0}, Case{2, 2, 0, 0},
                      Case{2, 2, 1, 0}, Case{2, 2, 2047, 0}, Case{2, 2, 2048, 0},
                      Case{2, 2, 2049, 0}, Case{2, 2, 131'072, 0}, Case{2, 2, 131'073, 0},
                      Case{3, 3, 50'000, 1}, Case{3, 3, 50'000, 2}, Case{3, 3, 50'000, 3},
                      Case{6, 6, 20'000, 1}, Case{6, 6, 20'000, 2}, Case{6, 6, 20'000, 6},
                      Case{4, 16, 20'000, 0}, Case{1, 5, 50'000, 0}, Case{2, 7, 30'000, 2},
                      Case{2, 2, 4'500'000, 0}, Case{3, 12, 10'000, 3}),
    [](const auto& test) {
      const Case& one = test.param;
      return std::to_string(one.sources) + "On" + std::to_string(one.nodes) + "Of" +
             std::to_string(one.elements) + "Degree" + std::to_string(one.degree);
    });

TEST(Reduce, TheFirstOfManyAreUsed) {
  Cluster cluster({.nodes = 4});
  constexpr std::size_t kElements = 40'000;
  auto client = cluster.client(0);
  auto options = Sum(6);
  options.num_objects = 3;
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum) << sum.error().ToString();
  for (const std::size_t i : {4, 1, 5}) PutSource(cluster.client(i % 4), i, kElements);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->used, (std::vector{IdOf(1), IdOf(4), IdOf(5)}));
  EXPECT_EQ(outcome->unused, (std::vector{IdOf(0), IdOf(2), IdOf(3)}));
  PutSource(cluster.client(0), 0, kElements);
  EXPECT_EQ(WrongSum(cluster.client(2).Get(sum->target(), kSoon), outcome->used, kElements), "");
}

TEST(Reduce, SourcesThatAppearOneByOneAreFoldedAsTheyCome) {
  Cluster cluster({.nodes = 3});
  constexpr std::size_t kElements = 40'000;
  auto client = cluster.client(1);
  auto sum = client.Reduce(Sum(5));
  ASSERT_TRUE(sum);
  auto early = cluster.client(2).GetAsync(sum->target(), kSoon);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_FALSE(sum->ready());
    PutSource(cluster.client(i % 3), i, kElements);
  }
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(WrongSum(early.Wait(), outcome->used, kElements), "");
}

TEST(Reduce, ASourceMayBeAnotherReductionsTarget) {
  Cluster cluster({.nodes = 3});
  constexpr std::size_t kElements = 40'000;
  for (std::size_t i = 0; i < 4; ++i) PutSource(cluster.client(i % 3), i, kElements);
  auto client = cluster.client(0);
  auto inner = Sum(2);
  inner.target = ObjectId::FromName("inner");
  auto outer = Sum(0);
  outer.sources = {inner.target, IdOf(2), IdOf(3)};
  auto second = client.Reduce(outer);
  auto first = client.Reduce(inner);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_TRUE(first->Wait());
  const auto outcome = second->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(WrongSum(client.Get(second->target(), kSoon), Ids(4), kElements), "");
}

TEST(Reduce, ReductionsShareSources) {
  Cluster cluster({.nodes = 3, .memory_bytes = 128_MiB});
  constexpr std::size_t kElements = 20'000;
  for (std::size_t i = 0; i < 4; ++i) PutSource(cluster.client(i % 3), i, kElements);
  auto client = cluster.client(0);
  std::vector<Reduction> sums;
  for (int i = 0; i < 20; ++i) {
    auto sum = cluster.client(static_cast<std::size_t>(i) % 3).Reduce(Sum(4));
    ASSERT_TRUE(sum);
    sums.push_back(std::move(*sum));
  }
  for (const Reduction& sum : sums) {
    const auto outcome = sum.Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_EQ(WrongSum(client.Get(sum.target(), kSoon), outcome->used, kElements), "");
  }
}

TEST(Reduce, MemoryComesBack) {
  Cluster cluster({.nodes = 3});
  constexpr std::size_t kElements = 100'000;
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
  const auto before = UsedBytes(cluster, 3);
  auto client = cluster.client(0);
  auto sum = client.Reduce(Sum(3));
  ASSERT_TRUE(sum);
  ASSERT_TRUE(sum->Wait());
  ASSERT_TRUE(client.Delete(sum->target()));
  EXPECT_TRUE(Eventually([&] { return UsedBytes(cluster, 3) == before; }));
}

TEST(Reduce, TheRootIsWhereItIsAskedFor) {
  Cluster cluster({.nodes = 3, .memory_bytes = 32_MiB});
  constexpr std::size_t kElements = 60'000;
  for (std::size_t i = 0; i < 2; ++i) PutSource(cluster.client(i), i, kElements);
  auto options = Sum(2);
  options.root_here = true;
  auto client = cluster.client(2);
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  const auto info = client.Info(sum->target());
  ASSERT_TRUE(info);
  ASSERT_EQ(info->holders.size(), 1u);
  EXPECT_EQ(info->holders.front().node, cluster.node(2).name());
  EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
}

// Sums of these differ in the last bits with the order of folding.
TEST(Reduce, AFixedOrderGivesTheSameBitsHoweverSourcesArrive) {
  Cluster cluster({.nodes = 3, .memory_bytes = 32_MiB});
  for (const std::size_t elements : {1000, 40'000}) {
    std::vector<std::string> results;
    for (const auto& order : {std::vector{0, 1, 2, 3}, std::vector{3, 1, 0, 2}}) {
      auto client = cluster.client(0);
      ReduceOptions options{.dtype = DType::kFloat32, .fixed_order = true, .timeout = 30s};
      for (int i = 0; i < 4; ++i) options.sources.push_back(ObjectId::Random());
      auto sum = client.Reduce(options);
      ASSERT_TRUE(sum);
      for (const int i : order) {
        std::vector<float> values(elements);
        for (std::size_t e = 0; e < elements; ++e) {
          values[e] =
              1.0F / static_cast<float>(3 + (e * 7 + static_cast<std::size_t>(i) * 13) % 97);
        }
        const auto bytes = std::as_bytes(std::span(values));
        const auto id = options.sources[static_cast<std::size_t>(i)];
        ASSERT_TRUE(cluster.client(static_cast<std::size_t>(i) % 3).Put(bytes, {.id = id}));
      }
      ASSERT_TRUE(sum->Wait());
      const auto target = client.Get(sum->target(), kSoon);
      ASSERT_TRUE(target);
      results.push_back(testing::Text(*target));
    }
    EXPECT_TRUE(results[0] == results[1]);
  }
}

// 4 sources on each of 4 nodes: they are folded before anything leaves the node.
TEST(Reduce, SourcesOfOneNodeLeaveItAsOne) {
  Cluster cluster({.nodes = 4, .memory_bytes = 64_MiB});
  constexpr std::size_t kElements = 131'072;
  for (std::size_t i = 0; i < 16; ++i) PutSource(cluster.client(i % 4), i, kElements);
  auto client = cluster.client(0);
  auto sum = client.Reduce(Sum(16));
  ASSERT_TRUE(sum);
  ASSERT_TRUE(sum->Wait());
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LE(cluster.node(i).counters().bytes_sent, kElements * sizeof(std::int64_t) * 11 / 10);
  }
  EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), Ids(16), kElements), "");
}

TEST(Reduce, TheTargetCanBeReadWhileItIsMade) {
  constexpr std::size_t kElements = 1'000'000;
  Cluster cluster({.nodes = 3, .memory_bytes = 64_MiB, .rate_bytes_per_second = 16_MiB});
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
  auto client = cluster.client(0);
  auto sum = client.Reduce(Sum(3));
  ASSERT_TRUE(sum);
  auto reader = cluster.client(1).Open(sum->target(), kSoon);
  ASSERT_TRUE(reader) << reader.error().ToString();
  const auto first = reader->WaitFor(64_KiB, 30s);
  ASSERT_TRUE(first) << first.error().ToString();
  EXPECT_FALSE(sum->ready());
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(WrongSum(cluster.client(1).Get(sum->target(), kSoon), outcome->used, kElements), "");
}

TEST(Reduce, MetadataIsThatOfTheFirstListedSource) {
  Cluster cluster({.nodes = 2, .memory_bytes = 32_MiB});
  for (const std::size_t bytes : {800, 800'000}) {
    ReduceOptions options{.dtype = DType::kUint8, .timeout = 30s};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto id = cluster.client(i).Put(testing::Pattern(bytes, i),
                                            {.metadata = "of " + std::to_string(i)});
      ASSERT_TRUE(id);
      options.sources.push_back(*id);
    }
    auto sum = cluster.client(1).Reduce(options);
    ASSERT_TRUE(sum);
    ASSERT_TRUE(sum->Wait());
    const auto target = cluster.client(0).Get(sum->target(), kSoon);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->metadata(), "of 0");
  }
}

// The next reduction plans with what transfers have measured.
TEST(Reduce, LinksAreMeasuredAndShown) {
  constexpr std::uint64_t kRate = 10'000'000;
  constexpr std::size_t kElements = 500'000;
  Cluster cluster({.nodes = 3, .memory_bytes = 32_MiB, .rate_bytes_per_second = kRate});
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
  auto client = cluster.client(0);
  auto sum = client.Reduce(Sum(3));
  ASSERT_TRUE(sum);
  ASSERT_TRUE(sum->Wait());
  const auto status = client.Status(kSoon);
  ASSERT_TRUE(status);
  std::size_t measured = 0;
  for (const NodeStatus& node : status->nodes) {
    if (node.bytes_per_second == 0) continue;
    ++measured;
    EXPECT_GT(node.bytes_per_second, kRate / 2);
    EXPECT_LT(node.bytes_per_second, kRate * 2);
    EXPECT_GT(node.round_trip.count(), 0);
  }
  EXPECT_EQ(measured, 2u);  // two slots pull in a line of three
}

TEST(Reduce, HundredsAtOnce) {
  Cluster cluster({.nodes = 3, .memory_bytes = 128_MiB});
  constexpr std::size_t kSmall = 500;
  constexpr std::size_t kLarge = 9'000;  // elements: above the inline limit
  constexpr std::size_t kReductions = 300;
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kLarge);
  std::vector<ObjectId> small;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto id = cluster.client(i).Put(testing::Bytes(testing::Source(i, kSmall)));
    ASSERT_TRUE(id);
    small.push_back(*id);
  }
  std::vector<Client> clients{cluster.client(0), cluster.client(1), cluster.client(2)};
  std::vector<Reduction> sums;
  for (std::size_t i = 0; i < kReductions; ++i) {
    auto options = Sum(3);
    if (i % 2 == 0) options.sources = small;
    auto sum = clients[i % 3].Reduce(options);
    ASSERT_TRUE(sum) << sum.error().ToString();
    sums.push_back(std::move(*sum));
  }
  for (std::size_t i = 0; i < kReductions; ++i) {
    const auto outcome = sums[i].Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_EQ(
        WrongSum(clients[0].Get(sums[i].target(), kSoon), Ids(3), i % 2 == 0 ? kSmall : kLarge),
        "");
  }
}

}  // namespace
}  // namespace hoplite
