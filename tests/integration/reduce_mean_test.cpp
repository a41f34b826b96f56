// Means by every way in which a target is made: each element is divided once, where it is final, by
// how many sources are in it.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::kSoon;
using testing::Mean;
using testing::PutSource;
using testing::WrongMean;
using namespace std::chrono_literals;

// Every node reads the target of `options`, which is made of all sources or of fewer.
void ExpectMean(Cluster& cluster, std::size_t nodes, const ReduceOptions& options,
                std::size_t elements) {
  const auto mean = cluster.client(nodes - 1).Reduce(options);
  ASSERT_TRUE(mean) << mean.error().ToString();
  const auto outcome = mean->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->used.size(), options.num_objects.value_or(options.sources.size()));
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto target = cluster.client(i).Get(mean->target(), kSoon);
    EXPECT_EQ(WrongMean(target, outcome->used, elements), "") << "at node " << i;
  }
}

struct MeanCase {
  std::size_t nodes;
  std::size_t sources;  // source i lies on node i % nodes
  std::size_t elements;
  std::uint32_t degree;
  std::size_t used;  // the first that are there
};

class MeanOf : public ::testing::TestWithParam<MeanCase> {};

TEST_P(MeanOf, TheSourcesThatAreUsed) {
  const auto [nodes, sources, elements, degree, used] = GetParam();
  Cluster cluster({.nodes = nodes, .memory_bytes = 32_MiB});
  for (std::size_t i = 0; i < sources; ++i) {
    PutSource<double>(cluster.client(i % nodes), i, elements);
  }
  ReduceOptions options = Mean(sources);
  options.degree = degree;
  if (used != sources) options.num_objects = used;
  ExpectMean(cluster, nodes, options, elements);
}

// One source, whose root copies it; small ones, which the coordinator folds; sources of one node alone;
// trees, where all but the root are folded on; the first of more.
INSTANTIATE_TEST_SUITE_P(
    Cases, MeanOf,
    ::testing::Values(MeanCase{2, 1, 100, 0, 1}, MeanCase{2, 1, 40'000, 0, 1},
                      MeanCase{2, 3, 2000, 0, 3}, MeanCase{2, 5, 2000, 0, 3},
                      MeanCase{1, 5, 40'000, 0, 5}, MeanCase{3, 7, 40'001, 0, 7},
                      MeanCase{6, 6, 20'000, 1, 6}, MeanCase{6, 6, 20'000, 2, 6},
                      MeanCase{6, 6, 20'000, 6, 6}, MeanCase{4, 7, 20'000, 2, 3}),
    [](const auto& test) {
      const MeanCase& one = test.param;
      return std::to_string(one.used) + "Of" + std::to_string(one.sources) + "On" +
             std::to_string(one.nodes) + "Of" + std::to_string(one.elements) + "Degree" +
             std::to_string(one.degree);
    });

// Each member's root divides its own stripes.
TEST(MeanForAll, InARing) {
  for (const std::size_t elements : {32'768, 300'007}) {
    Cluster cluster({.nodes = 5, .memory_bytes = 64_MiB});
    for (std::size_t i = 0; i < 5; ++i) PutSource<double>(cluster.client(i), i, elements);
    ReduceOptions options = Mean(5);
    options.everyone_reads = true;
    ExpectMean(cluster, 5, options, elements);
  }
}

// One node has room for its source alone: it is the leaf of a tree.
TEST(MeanForAll, InATreeIfANodeHasNoMemory) {
  constexpr std::size_t kElements = 2_MiB / sizeof(double);
  Cluster cluster({.nodes = 3, .memory_bytes = 64_MiB});
  const std::size_t full = cluster.Add({.memory_bytes = 2_MiB + 64_KiB});
  for (std::size_t i = 0; i <= full; ++i) PutSource<double>(cluster.client(i), i, kElements);
  ReduceOptions options = Mean(4);
  options.everyone_reads = true;
  ExpectMean(cluster, 3, options, kElements);
}

// A member ends when the root has made something: what it made is void, and made anew.
TEST(Mean, GoesOnWithTheSpareWhenASourceIsLost) {
  constexpr std::size_t kElements = 300'000;
  for (const std::size_t lost : {0, 3}) {
    testing::ClusterOptions slow{.nodes = 6, .memory_bytes = 32_MiB};
    slow.rate_bytes_per_second = 8_MiB;
    slow.directory.service.grace = 200ms;
    Cluster cluster(slow);
    for (std::size_t i = 0; i < 4; ++i) PutSource<double>(cluster.client(i), i, kElements);
    ReduceOptions options = Mean(5);
    options.num_objects = 4;
    options.degree = 2;
    auto client = cluster.client(5);
    const auto mean = client.Reduce(options);
    ASSERT_TRUE(mean) << mean.error().ToString();
    const auto early = client.GetAsync(mean->target(), kSoon);
    ASSERT_TRUE(Eventually([&] {
      const auto view = cluster.Find(mean->target());
      return view && std::ranges::any_of(view->slots, [](const protocol::SlotView& slot) {
               return slot.parents.empty() && slot.valid_bytes > 0;
             });
    }));
    cluster.Stop(lost);
    PutSource<double>(cluster.client(4), 4, kElements);
    const auto outcome = mean->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_EQ(WrongMean(early.Wait(), outcome->used, kElements), "");
  }
}

}  // namespace
}  // namespace hoplite
