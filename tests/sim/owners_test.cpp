// Who owns an id, in every order of events: the real shard and node decide rightly, and each of
// their rules is needed: without it a property breaks.
#include <gtest/gtest.h>

#include "sim/session_world/owner_world.h"

namespace hoplite::sim {
namespace {

using OwnerCalls = std::array<OwnerOptions::Calls, 3>;

constexpr OwnerCalls kEveryClient{{{1, 1}, {1, 1}, {1, 1}}};
constexpr OwnerCalls kOneOwner{{{1, 1}, {0, 0}, {0, 0}}};
constexpr OwnerCalls kEachNode{{{1, 1}, {0, 0}, {1, 1}}};
constexpr OwnerCalls kOneNode{{{1, 1}, {1, 1}, {0, 0}}};

// Both are of one node.
constexpr OwnerCalls kGraces{{{1, 1, std::chrono::seconds(40)}, {1, 1, Duration(0)}, {0, 0}}};
constexpr OwnerCalls kNoGrace{{{1, 1, Duration(0)}, {0, 0}, {1, 1, std::chrono::seconds(40)}}};
constexpr OwnerCalls kLongGrace{{{1, 1, std::chrono::seconds(40)}, {0, 0}, {0, 0}}};

struct OwnerCase {
  const char* name;
  OwnerOptions options;
};
void PrintTo(const OwnerCase& tested, std::ostream* out) { *out << tested.name; }
const auto kOwnerName = [](const auto& tested) { return tested.param.name; };

class OwnersInEveryOrder : public testing::TestWithParam<OwnerCase> {};

TEST_P(OwnersInEveryOrder, KeepWhatIsOwnedAndNothingElse) {
  const auto result = SearchOwners(GetParam().options, 3'000'000);
  EXPECT_EQ(result.violation, "") << ToString(result);
  EXPECT_TRUE(result.exhausted);
  EXPECT_GT(result.rests, 0U);
  RecordProperty("states", std::to_string(result.states));
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnersInEveryOrder,
    testing::Values(
        OwnerCase{"Calls", {.calls = kEveryClient}},
        OwnerCase{"Break", {.calls = kEachNode, .breaks = 1}},
        OwnerCase{"Restart", {.calls = kEachNode, .restarts = 1}},
        OwnerCase{"BreakAndRestart", {.calls = kOneOwner, .breaks = 1, .restarts = 1}},
        OwnerCase{"BreakAndDeath", {.calls = kOneNode, .breaks = 1, .client_deaths = 1}},
        OwnerCase{"RestartAndDeath", {.calls = kOneOwner, .restarts = 1, .node_deaths = 1}},
        OwnerCase{"PutsLater", {.calls = kOneOwner, .breaks = 1, .puts_later = true}},
        OwnerCase{"Reads", {.calls = kOneOwner, .breaks = 1, .puts_later = true, .reads = true}},
        OwnerCase{"ReadsAndRestart",
                  {.calls = kOneOwner, .restarts = 1, .puts_later = true, .reads = true}},
        OwnerCase{"ReadsAndDeath",
                  {.calls = kOneOwner,
                   .breaks = 1,
                   .client_deaths = 1,
                   .puts_later = true,
                   .reads = true}},
        OwnerCase{"Graces", {.calls = kGraces, .breaks = 1, .client_deaths = 1}},
        OwnerCase{"GracesOfNodes", {.calls = kNoGrace, .breaks = 1, .node_deaths = 1}},
        OwnerCase{"GraceAndRestart", {.calls = kLongGrace, .breaks = 1, .restarts = 1}},
        OwnerCase{"OwnedPutWithGrace",
                  {.calls = kGraces, .breaks = 1, .puts_later = true, .owned_put = true}},
        OwnerCase{"OwnedPut", {.calls = kOneNode, .puts_later = true, .owned_put = true}}),
    kOwnerName);

OwnerCase Faulty(const char* name, OwnerOptions options, OwnerFault fault) {
  options.fault = fault;
  return {name, options};
}

class OwnerFaults : public testing::TestWithParam<OwnerCase> {};

TEST_P(OwnerFaults, AreCaught) {
  const auto result = SearchOwners(GetParam().options, 3'000'000);
  EXPECT_NE(result.violation, "") << ToString(result);
  // Without the fault the very same histories are sound.
  OwnerOptions right = GetParam().options;
  right.fault = OwnerFault::kNone;
  EXPECT_EQ(SearchOwners(right, 3'000'000).violation, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnerFaults,
    testing::Values(
        Faulty("NoNumbers", {.calls = {{{2, 1}, {0, 0}, {0, 0}}}, .breaks = 1},
               OwnerFault::kNoNumbers),
        Faulty("AnyAnswer", {.calls = kOneNode}, OwnerFault::kAnyAnswer),
        Faulty("AnswersAlone", {.calls = kOneNode, .breaks = 1}, OwnerFault::kAnswersAlone),
        Faulty("NoBits", {.calls = kOneOwner, .breaks = 1}, OwnerFault::kNoBits),
        Faulty("OnlyAnsweredBits", {.calls = kOneOwner, .breaks = 1},
               OwnerFault::kOnlyAnsweredBits),
        Faulty("NoOrphanGrace", {.calls = kOneOwner, .breaks = 1}, OwnerFault::kNoOrphanGrace),
        Faulty("NoGraceInInventory", {.calls = kLongGrace, .breaks = 2},
               OwnerFault::kNoGraceInInventory),
        Faulty("NoMarker", {.calls = kOneOwner, .breaks = 1}, OwnerFault::kNoMarker),
        Faulty("OnlyTheWindow", {.calls = kOneOwner, .restarts = 1}, OwnerFault::kOnlyTheWindow),
        Faulty("KnownOwnersOnly", {.calls = {{{1, 1}, {0, 0}, {1, 0}}}, .restarts = 1},
               OwnerFault::kKnownOwnersOnly),
        Faulty("NoFlagInInventory", {.calls = kOneOwner, .restarts = 1, .node_deaths = 1},
               OwnerFault::kNoFlagInInventory),
        Faulty("NoNotes", {.calls = kOneOwner, .restarts = 1}, OwnerFault::kNoNotes),
        Faulty("NotesTillAnswered", {.calls = kOneOwner, .restarts = 1},
               OwnerFault::kNotesTillAnswered),
        Faulty("PutsForNobody", {.calls = kOneOwner, .puts_later = true},
               OwnerFault::kPutsForNobody),
        Faulty("ReadsTooEarly",
               {.calls = kOneOwner, .restarts = 1, .puts_later = true, .reads = true},
               OwnerFault::kOnlyTheWindow),
        Faulty("SaysItOnce", {.calls = kOneOwner, .restarts = 1, .puts_later = true, .reads = true},
               OwnerFault::kSaysItOnce)),
    kOwnerName);

}  // namespace
}  // namespace hoplite::sim
