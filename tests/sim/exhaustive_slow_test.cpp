// The larger searches, without sanitizers.
#include <gtest/gtest.h>

#include "sim/search.h"

namespace hoplite::sim {
namespace {

TEST(ExhaustiveSlow, FourNodesWithoutFaults) {
  const SearchResult result = Search({.nodes = 4}, 1'000'000);
  EXPECT_EQ(result.violation, "") << result.ToString();
  EXPECT_TRUE(result.exhausted);
}

// The producer dies and another node puts other bytes under the same id, at any moment.
TEST(ExhaustiveSlow, OtherBytesUnderTheSameId) {
  const SearchResult result = Search({.deaths = 1, .put_again = true}, 1'000'000);
  EXPECT_EQ(result.violation, "") << result.ToString();
  EXPECT_TRUE(result.exhausted);
}

}  // namespace
}  // namespace hoplite::sim
