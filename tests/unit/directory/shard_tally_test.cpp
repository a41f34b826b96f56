#include "directory/shard_tally.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "directory/shard_metrics.h"

namespace hoplite::directory {
namespace {

planner::Action Told(GrantId replaces, planner::MoveReason why) {
  return {NodeId(1), protocol::Grant{.grant = {{1, 2}}, .replaces = replaces}, why};
}

std::uint64_t CountOf(const ShardTally& tally, const std::string& reason) {
  const auto moves = tally.Moves();
  const auto found = std::ranges::find(moves, reason, &protocol::MovesView::reason);
  return found == moves.end() ? 0 : found->count;
}

TEST(ShardTally, CountsMovesByReason) {
  const GrantId old{{1, 1}};
  ShardTally tally;
  tally.Count(Told({}, planner::MoveReason::kNone));
  tally.Count(Told(old, planner::MoveReason::kFaster));
  tally.Count(Told(old, planner::MoveReason::kFaster));
  tally.Count(Told(old, planner::MoveReason::kNone));
  EXPECT_EQ(tally.grants, 4U);
  EXPECT_EQ(CountOf(tally, "faster"), 2U);
  EXPECT_EQ(CountOf(tally, "lost"), 1U);
  EXPECT_EQ(CountOf(tally, "newcomer"), 0U);
}

TEST(ShardTally, EveryReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const auto& moves : ShardTally{}.Moves()) names.insert(moves.reason);
  EXPECT_EQ(names.size(), kMoveReasons);
  EXPECT_FALSE(names.contains(""));
}

TEST(ShardTally, TheMetricHasASampleForEachReason) {
  ShardTally tally;
  tally.Count(Told({{1, 1}}, planner::MoveReason::kSlow));
  const Metrics metrics = MetricsOf(tally, {}, {});
  const auto metric = std::ranges::find(metrics, "hoplite_directory_moves_total", &Metric::name);
  ASSERT_NE(metric, metrics.end());
  EXPECT_EQ(metric->label, "reason");
  EXPECT_EQ(metric->samples.size(), kMoveReasons);
  const auto slow = std::ranges::find(metric->samples, "slow", &MetricSample::label);
  ASSERT_NE(slow, metric->samples.end());
  EXPECT_EQ(slow->value, 1);
}

}  // namespace
}  // namespace hoplite::directory
