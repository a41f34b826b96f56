// More faults at once than owners_test.cpp has time for.
#include <gtest/gtest.h>

#include "sim/session_world/owner_world.h"
#include "testing/histories.h"

namespace hoplite::sim {
namespace {

using OwnerCalls = std::array<OwnerOptions::Calls, 3>;

constexpr OwnerCalls kEveryClient{{{1, 1}, {1, 1}, {1, 1}}};
constexpr OwnerCalls kOneOwner{{{1, 1}, {0, 0}, {0, 0}}};
constexpr OwnerCalls kEachNode{{{1, 1}, {0, 0}, {1, 1}}};
constexpr OwnerCalls kAgain{{{2, 2}, {1, 1}, {0, 0}}};

void ExpectSound(const OwnerOptions& options) {
  if (!test::ItsTurn()) GTEST_SKIP() << test::kNotItsTurn;
  const auto result = SearchOwners(options, 20'000'000);
  EXPECT_EQ(result.violation, "") << ToString(result);
  EXPECT_TRUE(result.exhausted);
}

TEST(OwnersInEveryOrderSlow, AllClientsAndABreak) {
  ExpectSound({.calls = kEveryClient, .breaks = 1});
}
TEST(OwnersInEveryOrderSlow, AllClientsAndARestart) {
  ExpectSound({.calls = kEveryClient, .restarts = 1});
}
TEST(OwnersInEveryOrderSlow, ABreakAndARestart) {
  ExpectSound({.calls = kEachNode, .breaks = 1, .restarts = 1});
}
TEST(OwnersInEveryOrderSlow, TwoBreaksAndARestart) {
  ExpectSound({.calls = kOneOwner, .breaks = 2, .restarts = 1});
}
TEST(OwnersInEveryOrderSlow, OwnersThatOwnAgain) { ExpectSound({.calls = kAgain, .breaks = 1}); }
TEST(OwnersInEveryOrderSlow, AllFaults) {
  ExpectSound(
      {.calls = kOneOwner, .breaks = 1, .restarts = 1, .client_deaths = 1, .node_deaths = 1});
}
TEST(OwnersInEveryOrderSlow, ARestartAndDeaths) {
  ExpectSound({.calls = kEachNode, .restarts = 1, .client_deaths = 1, .node_deaths = 1});
}
TEST(OwnersInEveryOrderSlow, APutLater) {
  ExpectSound({.calls = kOneOwner, .breaks = 1, .restarts = 1, .puts_later = true});
}
TEST(OwnersInEveryOrderSlow, AnOwnedPut) {
  ExpectSound(
      {.calls = kOneOwner, .breaks = 1, .restarts = 1, .puts_later = true, .owned_put = true});
}

}  // namespace
}  // namespace hoplite::sim
