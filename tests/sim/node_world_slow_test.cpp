// The histories of node_world_test.cpp, many more of them.
#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "sim/node_world/run.h"

namespace hoplite::node_world {
namespace {

class NodeWorldSeeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NodeWorldSeeds, KeepEveryProperty) {
  constexpr std::uint64_t kSeedsOfACase = 2500;
  const Tally tally = RunSeeds(1 + GetParam() * kSeedsOfACase, kSeedsOfACase);
  EXPECT_FALSE(tally.broken_seed) << tally.ToString();
}

// What ran before in the process, and so the addresses of memory, must not change a history.
TEST(NodeWorldSlow, TheSameSeedIsTheSameHistoryWhateverRanBefore) {
  constexpr std::uint64_t kSeeds = 600;
  std::map<std::uint64_t, std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    digests[seed] = World(Draw(seed)).Run().digest;
  }
  for (std::uint64_t seed = kSeeds; seed > 0; --seed) {
    ASSERT_EQ(World(Draw(seed)).Run().digest, digests[seed]) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(TwentyThousand, NodeWorldSeeds, testing::Range<std::uint64_t>(0, 8));

}  // namespace
}  // namespace hoplite::node_world
