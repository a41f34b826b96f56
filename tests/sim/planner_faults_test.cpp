// Tests of the tests: each planted fault must be caught, by the property that it breaks. That what
// is whole passes the same searches is shown by exhaustive_test.cpp, and that the planner's own
// invariants notice what they are for by invariants_test.cpp.
#include <gtest/gtest.h>

#include "sim/small_world/search.h"

namespace hoplite::sim {
namespace {

struct Case {
  const char* name;
  SmallOptions options;
  const char* property;
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

// Two sources lie on nodes that can't connect, and a third asks for their sum.
SmallOptions AroundAPair(PlantedFault fault) {
  return {
      .nodes = 3, .blocks = 1, .cut = SmallCut{.both_ways = true}, .sources = 2, .fault = fault};
}
// The one that asks can't fold what the other makes, but the other can.
SmallOptions OneWay(PlantedFault fault) {
  return {.nodes = 2, .blocks = 1, .cut = SmallCut{}, .sources = 2, .fault = fault};
}

class PlannerFault : public testing::TestWithParam<Case> {};

TEST_P(PlannerFault, IsCaught) {
  const std::string found = Search(GetParam().options, 1'000'000).violation;
  EXPECT_TRUE(found.starts_with(GetParam().property)) << found;
}

INSTANTIATE_TEST_SUITE_P(
    All, PlannerFault,
    testing::Values(
        Case{"ForgetsDescendants", {.deaths = 1, .fault = PlantedFault::kForgetsDescendants}, "P2"},
        Case{"HandsOutDeadNodes", {.deaths = 1, .fault = PlantedFault::kHandsOutDeadNodes}, "P4"},
        Case{"KeepsGrantsOpen", {.fault = PlantedFault::kKeepsGrantsOpen}, "P10"},
        Case{"MixesVersionsOnResume",
             {.blocks = 1,
              .deaths = 1,
              .put_again = true,
              .fault = PlantedFault::kMixesVersionsOnResume},
             "P3"},
        Case{"DropsOldGrantCompletions",
             {.deaths = 1, .fault = PlantedFault::kDropsOldGrantCompletions},
             "P9"},
        Case{"ListsWaitersForMemory",
             {.deaths = 1, .waits_for_memory = true, .fault = PlantedFault::kListsWaitersForMemory},
             "P4"},
        Case{"KeepsBytesOfOldSlots",
             {.nodes = 2,
              .blocks = 1,
              .deaths = 1,
              .put_again = true,
              .sources = 2,
              .fault = PlantedFault::kKeepsBytesOfOldSlots},
             "P3"},
        Case{"ResetsSiblings",
             {.nodes = 3,
              .blocks = 1,
              .deaths = 1,
              .sources = 3,
              .wanted = 2,
              .fault = PlantedFault::kResetsSiblings},
             "P7"},
        Case{"AsksInAnyOrder",
             {.stripes = 2,
              .growing = true,
              .unequal = true,
              .window = 1,
              .fault = PlantedFault::kAsksInAnyOrder},
             "P10"},
        Case{"ForgetsBlockedPairs",
             {.nodes = 2,
              .blocks = 1,
              .cut = SmallCut{},
              .fault = PlantedFault::kForgetsBlockedPairs},
             "P12"},
        Case{"NeverTriesAgain",
             {.nodes = 2,
              .blocks = 1,
              .cut = SmallCut{.heals = true},
              .fault = PlantedFault::kNeverTriesAgain},
             "P9"},
        Case{
            "AsksNoThird",
            {.blocks = 1, .looks_on = true, .cut = SmallCut{}, .fault = PlantedFault::kAsksNoThird},
            "P9"},
        Case{"NamesNoPair", AroundAPair(PlantedFault::kNamesNoPair), "P9"},
        Case{"TakesOneWayForBoth", OneWay(PlantedFault::kTakesOneWayForBoth), "P9"},
        Case{"TakesTheOtherWay", OneWay(PlantedFault::kTakesTheOtherWay), "P9"},
        Case{"TakesAnyGive",
             {.nodes = 4,
              .blocks = 1,
              .asks_again = true,
              .deletes = true,
              .inlined = true,
              .fault = PlantedFault::kTakesAnyGive},
             "P5"},
        Case{"TakesAnyGiveOfAHolder",
             {.nodes = 4,
              .blocks = 1,
              .asks_again = true,
              .deletes = true,
              .inlined = true,
              .joint = true,
              .fault = PlantedFault::kTakesAnyGive},
             "P5"},
        Case{"PlansThemBeside", AroundAPair(PlantedFault::kPlansThemBeside), "P12"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace hoplite::sim
