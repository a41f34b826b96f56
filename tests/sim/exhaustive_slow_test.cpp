// The larger searches, without sanitizers.
#include <gtest/gtest.h>

#include "sim/search.h"

namespace hoplite::sim {
namespace {

void ExpectSound(const SmallOptions& options) {
  const SearchResult result = Search(options, 1'000'000);
  EXPECT_EQ(result.violation, "") << result.ToString();
  EXPECT_TRUE(result.exhausted) << result.states;
}

TEST(ExhaustiveSlow, FourNodesWithoutFaults) { ExpectSound({.nodes = 4}); }

TEST(ExhaustiveSlow, OneRestartOfTheDirectoryAtAnyMoment) { ExpectSound({.restarts = 1}); }

// The producer dies and another node puts other bytes under the same id, at any moment.
TEST(ExhaustiveSlow, OtherBytesUnderTheSameId) { ExpectSound({.deaths = 1, .put_again = true}); }

}  // namespace
}  // namespace hoplite::sim
