// Reductions whose target is read by every node that has a source, over real nodes and TCP on the
// loopback: everybody has the right sum, however it was divided.
#include <vector>

#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::IdOf;
using testing::kSoon;
using testing::PutSource;
using testing::Sum;
using testing::WrongSum;

ReduceOptions SumForAll(std::size_t sources) {
  ReduceOptions options = Sum(sources);
  options.everyone_reads = true;
  return options;
}

// Every node's client asks for the target.
std::vector<Future<Buffer>> ReadEverywhere(Cluster& cluster, std::size_t nodes,
                                           const ObjectId& target) {
  std::vector<Future<Buffer>> readers;
  for (std::size_t i = 0; i < nodes; ++i) {
    readers.push_back(cluster.client(i).GetAsync(target, kSoon));
  }
  return readers;
}

void ExpectSum(const std::vector<Future<Buffer>>& readers, const std::vector<ObjectId>& used,
               std::size_t elements) {
  for (const auto& reader : readers) EXPECT_EQ(WrongSum(reader.Wait(), used, elements), "");
}

struct Divided {
  std::size_t nodes;
  std::size_t elements;  // of 8 bytes
};

class EveryoneReads : public ::testing::TestWithParam<Divided> {};

TEST_P(EveryoneReads, AllHaveTheSumOfAll) {
  const auto [nodes, elements] = GetParam();
  Cluster cluster({.nodes = nodes, .memory_bytes = 64_MiB});
  for (std::size_t i = 0; i < nodes; ++i) PutSource(cluster.client(i), i, elements);
  const auto sum = cluster.client(nodes - 1).Reduce(SumForAll(nodes));
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto readers = ReadEverywhere(cluster, nodes, sum->target());
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->used, testing::Ids(nodes));
  ExpectSum(readers, outcome->used, elements);
}

// Inside the directory; of one block and of one stripe; of as many blocks as stripes; of sizes that
// neither block nor stripe divides.
INSTANTIATE_TEST_SUITE_P(Cases, EveryoneReads,
                         ::testing::Values(Divided{2, 1}, Divided{2, 8193}, Divided{2, 32'768},
                                           Divided{2, 131'073}, Divided{3, 37'501},
                                           Divided{3, 655'361}, Divided{5, 32'768},
                                           Divided{5, 300'007}, Divided{6, 524'288}),
                         [](const auto& test) {
                           return std::to_string(test.param.nodes) + "NodesOf" +
                                  std::to_string(test.param.elements);
                         });

TEST(EveryoneReadsTarget, OneSourceComesWhenTheOthersHaveBegun) {
  Cluster cluster({.nodes = 4, .memory_bytes = 64_MiB});
  constexpr std::size_t kElements = 200'000;
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
  const auto sum = cluster.client(0).Reduce(SumForAll(4));
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto readers = ReadEverywhere(cluster, 4, sum->target());
  EXPECT_TRUE(Eventually([&] {
    const auto info = cluster.client(0).Info(sum->target(), kSoon);
    return info && !info->slots.empty();
  }));
  EXPECT_FALSE(sum->ready());
  PutSource(cluster.client(3), 3, kElements);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ExpectSum(readers, outcome->used, kElements);
}

TEST(EveryoneReadsTarget, TheFirstToComeAreInItAndTheOthersReadItToo) {
  Cluster cluster({.nodes = 5, .memory_bytes = 64_MiB});
  constexpr std::size_t kElements = 100'000;
  auto options = SumForAll(6);
  options.num_objects = 3;
  const auto sum = cluster.client(1).Reduce(options);
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto readers = ReadEverywhere(cluster, 5, sum->target());
  for (const std::size_t i : {4, 0, 2}) PutSource(cluster.client(i), i, kElements);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->used, (std::vector{IdOf(0), IdOf(2), IdOf(4)}));
  ExpectSum(readers, outcome->used, kElements);
}

TEST(EveryoneReadsTarget, SeveralSourcesOfANodeCountOnceEach) {
  Cluster cluster({.nodes = 3, .memory_bytes = 64_MiB});
  constexpr std::size_t kElements = 60'000;
  for (std::size_t i = 0; i < 8; ++i) PutSource(cluster.client(i % 3), i, kElements);
  const auto sum = cluster.client(2).Reduce(SumForAll(8));
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto readers = ReadEverywhere(cluster, 3, sum->target());
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ExpectSum(readers, outcome->used, kElements);
}

// Of three members or four, one of which has memory for its source, or for one of its
// two slots beside it: the others make the sum of all, and read it.
TEST(EveryoneReadsTarget, AFullStoreAtOneMemberEndsNothing) {
  constexpr std::size_t kElements = 2_MiB / sizeof(std::int64_t);
  for (const std::size_t nodes : {2, 3}) {
    for (const std::uint64_t memory : {2_MiB + 64_KiB, 5_MiB}) {
      Cluster cluster({.nodes = nodes, .memory_bytes = 64_MiB});
      const std::size_t full = cluster.Add({.memory_bytes = memory});
      for (std::size_t i = 0; i <= full; ++i) PutSource(cluster.client(i), i, kElements);
      const auto sum = cluster.client(0).Reduce(SumForAll(nodes + 1));
      ASSERT_TRUE(sum) << sum.error().ToString();
      const auto readers = ReadEverywhere(cluster, nodes, sum->target());
      const auto outcome = sum->Wait();
      ASSERT_TRUE(outcome) << outcome.error().ToString();
      EXPECT_EQ(outcome->used, testing::Ids(nodes + 1));
      ExpectSum(readers, outcome->used, kElements);
    }
  }
}

// As long as somebody has room for a sum.
TEST(EveryoneReadsTarget, FullStoresAtAllMembersButOneEndNothing) {
  constexpr std::size_t kElements = 2_MiB / sizeof(std::int64_t);
  Cluster cluster({.nodes = 1, .memory_bytes = 64_MiB});
  for (int i = 0; i < 3; ++i) cluster.Add({.memory_bytes = 2_MiB + 64_KiB});
  for (std::size_t i = 0; i < 4; ++i) PutSource(cluster.client(i), i, kElements);
  const auto sum = cluster.client(3).Reduce(SumForAll(4));
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto readers = ReadEverywhere(cluster, 1, sum->target());
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ExpectSum(readers, outcome->used, kElements);
}

// root_here, fixed_order or a degree win: the target is made at one node, and nobody else gets a
// copy who does not ask for it.
TEST(EveryoneReadsTarget, WhoeverSaysWhereOrInWhichOrderGetsThat) {
  Cluster cluster({.nodes = 3, .memory_bytes = 64_MiB});
  constexpr std::size_t kElements = 100'000;
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
  auto here = SumForAll(3);
  here.root_here = true;
  auto ordered = SumForAll(3);
  ordered.fixed_order = true;
  auto forced = SumForAll(3);
  forced.degree = 2;
  for (const ReduceOptions& options : {here, ordered, forced}) {
    auto client = cluster.client(2);
    const auto sum = client.Reduce(options);
    ASSERT_TRUE(sum) << sum.error().ToString();
    const auto outcome = sum->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    const auto info = client.Info(sum->target());
    ASSERT_TRUE(info) << info.error().ToString();
    ASSERT_EQ(info->holders.size(), 1U);
    if (options.root_here) {
      EXPECT_EQ(info->holders.front().node, cluster.node(2).name());
    }
    EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
  }
}

TEST(EveryoneReadsTarget, MemoryComesBack) {
  Cluster cluster({.nodes = 3, .memory_bytes = 64_MiB});
  constexpr std::size_t kElements = 100'000;
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
  const auto before = UsedBytes(cluster, 3);
  auto client = cluster.client(0);
  for (int round = 0; round < 3; ++round) {
    const auto sum = client.Reduce(SumForAll(3));
    ASSERT_TRUE(sum) << sum.error().ToString();
    ASSERT_TRUE(sum->Wait());
    ASSERT_TRUE(client.Delete(sum->target()));
  }
  EXPECT_TRUE(Eventually([&] { return UsedBytes(cluster, 3) == before; }));
}

}  // namespace
}  // namespace hoplite
