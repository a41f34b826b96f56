// The histories of node_world_test.cpp, many more of them.
#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "sim/node_world/run.h"
#include "testing/histories.h"

namespace hoplite::node_world {
namespace {

class NodeWorldSeeds : public testing::TestWithParam<std::uint32_t> {};

TEST_P(NodeWorldSeeds, KeepEveryProperty) {
  constexpr std::uint32_t kSeedsOfACase = 2500;
  const test::Seeds seeds = test::SeedsOf(1 + GetParam() * kSeedsOfACase, kSeedsOfACase);
  const Tally tally = RunSeeds(seeds.first, seeds.count);
  EXPECT_FALSE(tally.broken_seed) << tally.ToString();
}

// What ran before in the process, and so the addresses of memory, must not change a history.
TEST(NodeWorldSlow, TheSameSeedIsTheSameHistoryWhateverRanBefore) {
  const test::Seeds seeds = test::SeedsOf(1, 600);
  std::map<std::uint64_t, std::uint64_t> digests;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    digests[seed] = World(Draw(seed)).Run().digest;
  }
  for (std::uint64_t seed = seeds.first + seeds.count - 1; seed >= seeds.first; --seed) {
    ASSERT_EQ(World(Draw(seed)).Run().digest, digests[seed]) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(TwentyThousand, NodeWorldSeeds, testing::Range(0u, 8u));

}  // namespace
}  // namespace hoplite::node_world
