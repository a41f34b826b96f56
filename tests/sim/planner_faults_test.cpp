// Tests of the tests: each planted fault of the planner must be caught, by the planner's own
// invariants and again by what the world sees without them. That the real planner passes the same
// searches is shown by exhaustive_test.cpp.
#include <gtest/gtest.h>

#include "sim/small_world/search.h"

namespace hoplite::sim {
namespace {

using planner::PlantedFault;

struct Case {
  const char* name;
  SmallOptions options;
  const char* property;  // that the planner's invariants and the world find first
  const char* alone;     // that the world finds alone
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

class PlannerFault : public testing::TestWithParam<Case> {};

std::string Found(SmallOptions options, bool ask_planner) {
  options.ask_planner = ask_planner;
  return Search(options, 1'000'000).violation;
}

TEST_P(PlannerFault, IsCaught) {
  const std::string found = Found(GetParam().options, true);
  EXPECT_TRUE(found.starts_with(GetParam().property)) << found;
}

TEST_P(PlannerFault, IsCaughtByTheWorldAlone) {
  const std::string found = Found(GetParam().options, false);
  EXPECT_TRUE(found.starts_with(GetParam().alone)) << found;
}

INSTANTIATE_TEST_SUITE_P(
    All, PlannerFault,
    testing::Values(
        Case{"ForgetsDescendants",
             {.deaths = 1, .fault = PlantedFault::kForgetsDescendants},
             "P2",
             "P2"},
        Case{"HandsOutDeadNodes",
             {.deaths = 1, .fault = PlantedFault::kHandsOutDeadNodes},
             "P4",
             "P4"},
        // A node refuses bytes of the other version, so a grant stays that nothing can close.
        Case{"MixesVersionsOnResume",
             {.blocks = 1,
              .deaths = 1,
              .put_again = true,
              .fault = PlantedFault::kMixesVersionsOnResume},
             "P10",
             "P10"},
        Case{"DropsOldGrantCompletions",
             {.deaths = 1, .fault = PlantedFault::kDropsOldGrantCompletions},
             "P9",
             "P9"},
        Case{"ListsWaitersForMemory",
             {.deaths = 1, .waits_for_memory = true, .fault = PlantedFault::kListsWaitersForMemory},
             "S5",
             "P4"},
        Case{"KeepsBytesOfOldSlots",
             {.nodes = 2,
              .blocks = 1,
              .deaths = 1,
              .put_again = true,
              .sources = 2,
              .fault = PlantedFault::kKeepsBytesOfOldSlots},
             "P3",
             "P3"},
        Case{"ResetsSiblings",
             {.nodes = 3,
              .blocks = 1,
              .deaths = 1,
              .sources = 3,
              .wanted = 2,
              .fault = PlantedFault::kResetsSiblings},
             "P7",
             "P7"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace hoplite::sim
