// Full stores: without a disk they stand still, with one all calls end, and each rule that is broken shows.
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "sim/spill_world/spill_search.h"

namespace hoplite::sim {
namespace {

using Kind = SpillCall::Kind;
using Calls = std::vector<SpillCall>;

// Objects of two nodes.
constexpr std::uint8_t a1 = 0, a2 = 1, a3 = 2, b1 = 3, b2 = 4, b3 = 5, t = 6, u = 7;

Calls Put(std::initializer_list<std::uint8_t> objects) {
  Calls calls;
  for (const std::uint8_t object : objects) calls.push_back({Kind::kPut, object});
  return calls;
}

SpillCall Get(std::uint8_t object) { return {Kind::kGet, object}; }
SpillCall Release(std::uint8_t object) { return {Kind::kRelease, object}; }
Calls Read(std::uint8_t object) { return {Get(object), Release(object)}; }
Calls Delete(std::uint8_t object) { return {{Kind::kDelete, object}}; }
Calls Sum(std::uint8_t target, std::uint8_t one, std::uint8_t other) {
  return {{Kind::kReduce, target, {one, other}}};
}

Calls operator+(Calls first, const Calls& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

const SpillScenario kTwoFull{
    {{0, Put({a1, a2}) + Read(b1) + Read(b2)}, {1, Put({b1, b2}) + Read(a1) + Read(a2)}}};
const SpillScenario kBothHoldTwo{
    {{0, Put({a1, a2}) + Calls{Get(b1), Get(b2), Release(b1), Release(b2)}},
     {1, Put({b1, b2}) + Calls{Get(a1), Get(a2), Release(a1), Release(a2)}}}};
const SpillScenario kCircle{
    {{0, Put({0, 1}) + Read(2)}, {1, Put({2, 3}) + Read(4)}, {2, Put({4, 5}) + Read(0)}}, 3};
const SpillScenario kThreeTimes{
    {{0, Put({0, 1, 2, 3, 4, 5})}, {1, Read(0) + Read(3) + Read(5) + Read(0)}}};
const SpillScenario kReadBack{{{0, Put({a1, a2, a3}) + Read(a1) + Read(a2) + Read(a3) + Read(a1)}},
                              1};
const SpillScenario kSum{
    {{0, Put({a1, a2, a3}) + Sum(t, a1, b1)}, {1, Put({b1, b2, b3}) + Read(t)}}};
const SpillScenario kTwoSums{
    {{0, Put({a1}) + Sum(t, a1, b1)}, {0, Put({a2}) + Sum(u, a2, b1)}, {1, Put({b1})}}};
const SpillScenario kDeletes{
    {{0, Put({a1, a2, a3}) + Delete(a1) + Read(a3)}, {1, Put({b1, b2}) + Read(a2) + Delete(b1)}}};
const SpillScenario kHolders{
    {{0, Put({a1, a2}) + Read(b1)}, {0, {Get(b1), Get(b2), Get(b3)}}, {1, Put({b1, b2, b3})}}};

SpillFound By(SpillScenario scenario, SpillRules rules) {
  scenario.rules = rules;
  return SpillSearch(SpillWorld(std::move(scenario)));
}

TEST(SpillWorld, WithoutADiskFullStoresStandStill) {
  for (const auto& scenario : {kTwoFull, kBothHoldTwo, kCircle, kThreeTimes}) {
    const SpillFound found = By(scenario, {});
    EXPECT_EQ(found.stuck, 1u);
    EXPECT_EQ(found.broken, 0u) << found.way;
  }
}

TEST(SpillWorld, WithOneEveryCallEnds) {
  const struct {
    const SpillScenario& scenario;
    std::uint8_t disk;
  } cases[] = {{kTwoFull, 2},  {kTwoFull, 1}, {kBothHoldTwo, 2}, {kCircle, 2}, {kThreeTimes, 6},
               {kReadBack, 3}, {kSum, 4},     {kTwoSums, 2},     {kDeletes, 2}};
  for (const auto& one : cases) {
    const SpillFound found = By(one.scenario, {.disk = one.disk});
    EXPECT_EQ(found.stuck + found.doomed + found.broken, 0u) << found.way;
    EXPECT_GT(found.states, 100u);
  }
}

// No store can help those who hold views and want more; a disk that fails is none, and loses nothing.
TEST(SpillWorld, WhatNoDiskCanHelpIsStuckAndNothingIsLost) {
  const SpillFound fails = By(kTwoFull, {.disk = 2, .writes_fail = true});
  EXPECT_GT(fails.stuck, 0u);
  EXPECT_EQ(fails.broken, 0u) << fails.way;
  const SpillFound held = By(kHolders, {.disk = 4});
  EXPECT_GT(held.stuck, 0u);
  EXPECT_EQ(held.broken, 0u) << held.way;
}

TEST(SpillWorldFault, IsFound) {
  EXPECT_GT(By(kBothHoldTwo, {.disk = 2, .serves_from_file = false}).stuck, 0u);
  EXPECT_GT(By(kReadBack, {.disk = 3, .memory_before_thread = false}).stuck, 0u);
  EXPECT_GT(By(kTwoSums, {.disk = 2, .waits_unpinned = false}).stuck, 0u);
  EXPECT_GT(By(kReadBack, {.disk = 3, .restored_may_go = false}).stuck, 0u);
  EXPECT_GT(By(kTwoFull, {.disk = 2, .writes_fail = true, .frees_at_end = false}).broken, 0u);
  EXPECT_GT(By(kBothHoldTwo, {.disk = 2, .file_stays_while_read = false}).broken, 0u);
  EXPECT_GT(By(kTwoSums, {.disk = 2, .folds_from_file = false}).stuck, 0u);
}

}  // namespace
}  // namespace hoplite::sim
