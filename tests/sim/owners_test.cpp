// Who owns an id, in every order of events: the real shard and node decide rightly, and each of
// their rules is needed: without it a property breaks.
#include <gtest/gtest.h>

#include "sim/owner_world/owner_world.h"

namespace hoplite::sim {
namespace {

using Calls = std::array<OwnerOptions::Calls, 3>;

constexpr Calls kAll{{{1, 1}, {1, 1}, {1, 1}}};
constexpr Calls kOneEach{{{1, 1}, {0, 0}, {1, 1}}};
constexpr Calls kOneNode{{{1, 1}, {1, 1}, {0, 0}}};

struct Case {
  const char* name;
  OwnerOptions options;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
const auto kName = [](const auto& tested) { return tested.param.name; };

class OwnersInEveryOrder : public testing::TestWithParam<Case> {};

TEST_P(OwnersInEveryOrder, KeepWhatIsOwnedAndNothingElse) {
  const auto result = SearchOwners(GetParam().options, 3'000'000);
  EXPECT_EQ(result.violation, "") << ToString(result);
  EXPECT_TRUE(result.exhausted);
  EXPECT_GT(result.rests, 0U);
  RecordProperty("states", std::to_string(result.states));
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnersInEveryOrder,
    testing::Values(Case{"Calls", {.calls = kAll}}, Case{"Break", {.calls = kOneEach, .breaks = 1}},
                    Case{"Restart", {.calls = kOneEach, .restarts = 1}},
                    Case{"ClientDies", {.calls = kOneNode, .client_deaths = 1}},
                    Case{"NodeDies", {.calls = kOneEach, .node_deaths = 1}},
                    Case{"PutsLater", {.calls = kOneEach, .breaks = 1, .puts_later = true}},
                    Case{"OwnedPut", {.calls = kOneNode, .puts_later = true, .owned_put = true}}),
    kName);

class OwnerFaults : public testing::TestWithParam<Case> {};

TEST_P(OwnerFaults, AreCaught) {
  const auto result = SearchOwners(GetParam().options, 3'000'000);
  EXPECT_NE(result.violation, "") << ToString(result);
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnerFaults,
    testing::Values(
        Case{"NoNumbers",
             {.calls = {{{2, 1}, {0, 0}, {0, 0}}}, .breaks = 1, .fault = OwnerFault::kNoNumbers}},
        Case{"AnyAnswer", {.calls = kOneNode, .fault = OwnerFault::kAnyAnswer}},
        Case{"AnswersAlone", {.calls = kOneNode, .breaks = 1, .fault = OwnerFault::kAnswersAlone}},
        Case{"NoBits", {.calls = kOneEach, .breaks = 1, .fault = OwnerFault::kNoBits}},
        Case{"OnlyAnsweredBits",
             {.calls = kOneEach, .breaks = 1, .fault = OwnerFault::kOnlyAnsweredBits}},
        Case{"NoOrphanGrace",
             {.calls = kOneEach, .breaks = 1, .fault = OwnerFault::kNoOrphanGrace}},
        Case{"NoMarker", {.calls = kOneEach, .breaks = 1, .fault = OwnerFault::kNoMarker}},
        Case{"OnlyTheWindow",
             {.calls = kOneEach, .restarts = 1, .fault = OwnerFault::kOnlyTheWindow}},
        Case{"KnownOwnersOnly",
             {.calls = kOneEach, .restarts = 1, .fault = OwnerFault::kKnownOwnersOnly}},
        Case{"NoFlagInInventory",
             {.calls = kOneEach,
              .restarts = 1,
              .node_deaths = 1,
              .fault = OwnerFault::kNoFlagInInventory}},
        Case{"NoNotes", {.calls = kOneEach, .restarts = 1, .fault = OwnerFault::kNoNotes}},
        Case{"NotesTillAnswered",
             {.calls = kOneEach, .restarts = 1, .fault = OwnerFault::kNotesTillAnswered}},
        Case{"PutsForNobody",
             {.calls = kOneEach, .puts_later = true, .fault = OwnerFault::kPutsForNobody}}),
    kName);

}  // namespace
}  // namespace hoplite::sim
