// What rates may do, in random histories without faults but with noise: HOPLITE_SEEDS=1+100000 plays
// so many. Alike links have no moves; over links that differ little is slower than without rates; no
// link is shown to carry more than it does.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "base/units.h"
#include "played.h"
#include "sim/kit/random.h"
#include "sim/planner_world/broadcast.h"
#include "testing/histories.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;

Report WithoutRates(Options options) {
  options.without.rates = true;
  return Played(options);
}

// Hosts that are alike, where nobody dies: words that are late, buckets, streams that begin slowly and
// share unfairly.
Options DrawEqual(std::uint64_t seed) {
  Random random(seed * 982451653);
  const auto in = [&random](auto least, auto most) {
    return least + random.Below(most - least + 1);
  };
  Options options;
  options.seed = seed;
  options.nodes = static_cast<std::uint32_t>(in(3U, 12U));
  options.size_bytes = 4_MiB << random.Below(3);
  options.bytes_per_second = 6'250'000ULL << random.Below(3);
  options.apart = milliseconds(100 * random.Below(5));
  options.rounds = static_cast<std::uint32_t>(in(1U, 3U));
  options.unmeasured = random.Below(2) == 0;
  const std::uint64_t told = options.bytes_per_second;
  if (!options.unmeasured) options.links.bytes_per_second.assign(options.nodes, told);
  options.noise = {.late = random.Within(milliseconds(150)),
                   .burst_bytes = 128'000,
                   .unfair = 1 + static_cast<double>(random.Below(100)) / 100,
                   .begins = random.Within(milliseconds(50))};
  return options;
}

// Nobody is shown to have more to spare than what a receiver gets. One trial finds out
// what the source's link carries: there and back, and whom it met on the way.
TEST(RateHistories, OfEqualHostsHaveNoMoves) {
  const test::Seeds seeds = test::SeedsOf(1, 120);
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    const Report report = Played(DrawEqual(seeds.first + i));
    EXPECT_EQ(report.moves, 0U) << report.replay;
    EXPECT_LE(report.trials, 3U) << report.replay;
    if (report.trials == 0) continue;
    const Report off = WithoutRates(DrawEqual(seeds.first + i));
    for (std::size_t round = 0; round < off.rounds.size(); ++round) {
      EXPECT_LT(report.rounds.at(round).stretch, 1.1 * off.rounds[round].stretch) << report.replay;
    }
  }
}

// 25 to 200 Mbit/s, told to half of the clusters.
Options DrawUnlike(std::uint64_t seed) {
  Random random(seed * 797003413);
  Options options = DrawEqual(seed);
  options.links.bytes_per_second.clear();
  for (std::uint32_t i = 0; i < options.nodes; ++i) {
    options.links.bytes_per_second.push_back(3'125'000 + random.Below(21'875'001));
  }
  options.bytes_per_second = std::ranges::max(options.links.bytes_per_second);
  constexpr std::array kApart = {0, 5, 20, 100};
  options.apart = milliseconds(kApart.at(random.Below(kApart.size())));
  options.unmeasured = random.Below(2) == 0;
  return options;
}

TEST(RateHistories, OfUnlikeHostsAreSeldomSlowerThanWithoutRates) {
  const test::Seeds seeds = test::SeedsOf(1, 120);
  std::uint64_t rounds = 0;
  std::uint64_t slower = 0;
  std::uint64_t moves = 0;
  std::uint64_t receivers = 0;
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    const Report report = Played(DrawUnlike(seeds.first + i));
    const Report off = WithoutRates(DrawUnlike(seeds.first + i));
    for (std::size_t round = 0; round < off.rounds.size(); ++round) {
      const Round& played = report.rounds.at(round);
      const double ratio = played.stretch / off.rounds[round].stretch;
      EXPECT_LT(ratio, 1.7) << report.replay;
      EXPECT_LT(played.most_shown, 1.15) << report.replay;
      ++rounds;
      slower += ratio > 1.1 ? 1 : 0;
      receivers += played.completed;
    }
    moves += report.moves + report.trials;
  }
  EXPECT_LE(slower * 20, rounds);
  EXPECT_LE(moves, receivers);
}

}  // namespace
}  // namespace hoplite::sim
