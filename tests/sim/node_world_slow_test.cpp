// The same in numbers.
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

INSTANTIATE_TEST_SUITE_P(TwentyThousand, NodeWorldSeeds, testing::Range<std::uint64_t>(0, 8));

}  // namespace
}  // namespace hoplite::node_world
