// More faults at once than owners_test.cpp has time for.
#include <gtest/gtest.h>

#include "sim/owner_world/owner_world.h"

namespace hoplite::sim {
namespace {

using Calls = std::array<OwnerOptions::Calls, 3>;

constexpr Calls kAll{{{1, 1}, {1, 1}, {1, 1}}};
constexpr Calls kOneEach{{{1, 1}, {0, 0}, {1, 1}}};
constexpr Calls kAgain{{{2, 2}, {1, 1}, {0, 0}}};

void ExpectSound(const OwnerOptions& options) {
  const auto result = SearchOwners(options, 20'000'000);
  EXPECT_EQ(result.violation, "") << ToString(result);
  EXPECT_TRUE(result.exhausted);
}

TEST(OwnersInEveryOrderSlow, AllClientsAndABreak) { ExpectSound({.calls = kAll, .breaks = 1}); }
TEST(OwnersInEveryOrderSlow, AllClientsAndARestart) { ExpectSound({.calls = kAll, .restarts = 1}); }
TEST(OwnersInEveryOrderSlow, ABreakAndARestart) {
  ExpectSound({.calls = kOneEach, .breaks = 1, .restarts = 1});
}
TEST(OwnersInEveryOrderSlow, OwnersThatOwnAgain) { ExpectSound({.calls = kAgain, .breaks = 1}); }
TEST(OwnersInEveryOrderSlow, ARestartAndDeaths) {
  ExpectSound({.calls = kOneEach, .restarts = 1, .client_deaths = 1, .node_deaths = 1});
}
TEST(OwnersInEveryOrderSlow, APutLaterAndARestart) {
  ExpectSound({.calls = kOneEach, .restarts = 1, .puts_later = true});
}

}  // namespace
}  // namespace hoplite::sim
