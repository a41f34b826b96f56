// One register in every order of events: the real shard and node decide rightly, and each of their
// rules is needed: without it a property breaks.
#include <gtest/gtest.h>

#include "sim/session_world/register_world.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kMostStates = 3'000'000;

struct RegisterCase {
  const char* name;
  RegisterOptions options;
};
void PrintTo(const RegisterCase& tested, std::ostream* out) { *out << tested.name; }
const auto kRegisterName = [](const auto& tested) { return tested.param.name; };

class RegistersInEveryOrder : public testing::TestWithParam<RegisterCase> {};

TEST_P(RegistersInEveryOrder, HaveOneWriterAndNobodyStepsBack) {
  const auto result = SearchRegisters(GetParam().options, kMostStates);
  EXPECT_EQ(result.violation, "") << ToString(result);
  EXPECT_TRUE(result.exhausted);
  EXPECT_GT(result.rests, 0U);
  RecordProperty("states", std::to_string(result.states));
}

INSTANTIATE_TEST_SUITE_P(
    All, RegistersInEveryOrder,
    testing::Values(
        RegisterCase{"Calls", {.claims = 2, .reads = 2}},
        RegisterCase{"SecondReader", {.writes = {1, 0}, .reads = 1, .second_reader = true}},
        RegisterCase{"Overs", {.overs = 2}},
        RegisterCase{"OversAndBreak", {.writes = {1, 0}, .overs = 1, .breaks = 1}},
        RegisterCase{"OversAndDeath", {.writes = {0, 1}, .overs = 1, .node_deaths = 1}},
        RegisterCase{"Death", {.reads = 1, .node_deaths = 1}},
        RegisterCase{"GiveUp", {.writes = {2, 0}, .breaks = 1, .given_up = 1}},
        RegisterCase{"Break", {.claims = 2, .breaks = 1}},
        RegisterCase{"BreakAndRead", {.writes = {0, 0}, .reads = 1, .breaks = 1}},
        RegisterCase{"BreakOfB", {.start = RegisterStart::kClaimedByB, .breaks = 1}},
        RegisterCase{"TwoBreaks", {.breaks = 2}},
        RegisterCase{"Restart", {.claims = 2, .restarts = 1}},
        RegisterCase{"RestartAndRead", {.claims = 0, .reads = 1, .restarts = 1}},
        RegisterCase{"RestartAfterB", {.start = RegisterStart::kClaimedByB, .restarts = 1}},
        RegisterCase{"RestartWithoutA", {.start = RegisterStart::kWithoutA, .restarts = 1}},
        RegisterCase{"TwoRestarts",
                     {.start = RegisterStart::kWithoutA, .writes = {1, 0}, .restarts = 2}},
        RegisterCase{"BreakAndRestart", {.breaks = 1, .restarts = 1}},
        RegisterCase{"RestartAndDeath", {.restarts = 1, .node_deaths = 1}}),
    kRegisterName);

RegisterCase Faulty(const char* name, RegisterOptions options, RegisterFault fault) {
  options.fault = fault;
  return {name, options};
}

class RegisterFaults : public testing::TestWithParam<RegisterCase> {};

TEST_P(RegisterFaults, AreCaught) {
  const auto result = SearchRegisters(GetParam().options, kMostStates);
  EXPECT_NE(result.violation, "") << ToString(result);
  if (testing::Test::HasFailure()) return;
  RecordProperty("caught", result.violation);
  // Without the fault the very same histories are sound.
  RegisterOptions right = GetParam().options;
  right.fault = RegisterFault::kNone;
  EXPECT_EQ(SearchRegisters(right, kMostStates).violation, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, RegisterFaults,
    testing::Values(
        Faulty("AnyNumber", {}, RegisterFault::kAnyNumber),
        Faulty("NumberOfNode", {.second_reader = true}, RegisterFault::kNumberOfNode),
        Faulty("OldClock", {.restarts = 2}, RegisterFault::kOldClock),
        Faulty("TellsNothing", {.restarts = 1}, RegisterFault::kTellsNothing),
        Faulty("NoClaims", {.claims = 0, .reads = 1, .breaks = 1}, RegisterFault::kNoClaims),
        Faulty("NoCalls", {.breaks = 1}, RegisterFault::kNoCalls),
        Faulty("AnswersAtOnce", {.start = RegisterStart::kWithoutA, .restarts = 1},
               RegisterFault::kAnswersAtOnce),
        Faulty("NewAttempts", {.breaks = 1}, RegisterFault::kNewAttempts),
        Faulty("NoFloor", {.writes = {2, 0}, .breaks = 1}, RegisterFault::kNoFloor),
        Faulty("NeverEnds", {.writes = {0, 0}, .breaks = 1}, RegisterFault::kNeverEnds),
        Faulty("ClaimsUnheard", {}, RegisterFault::kClaimsUnheard),
        Faulty("GoneUnasked", {.writes = {0, 0}, .reads = 2}, RegisterFault::kGoneUnasked),
        Faulty("RefusesDone", {.overs = 1}, RegisterFault::kRefusesDone)),
    kRegisterName);

}  // namespace
}  // namespace hoplite::sim
