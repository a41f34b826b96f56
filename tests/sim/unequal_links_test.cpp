// Broadcasts over unequal links and between sites: each receiver gets what its own links allow. Each
// case fails without a part of Rates; bench/cluster/unequal.py measures the same on hosts.
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "played.h"
#include "sim/kit/random.h"
#include "sim/planner_world/broadcast.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMbit = 125'000;
constexpr std::uint64_t kSeeds = 3;

// Rates in Mbit/s; the first one is the source's. 2 ms from node to node.
Options Linked(std::vector<std::uint64_t> rates) {
  Options options{.nodes = static_cast<std::uint32_t>(rates.size()), .latency = milliseconds(2)};
  for (std::uint64_t& rate : rates) rate *= kMbit;
  options.bytes_per_second = std::ranges::max(rates);
  options.links.bytes_per_second = std::move(rates);
  options.spread = milliseconds(2);
  return options;
}

// 400 Mbit/s within the sites, 100 between them.
Options TwoSites(std::uint32_t nodes) {
  Options options = Linked(std::vector<std::uint64_t>(nodes, 400));
  options.links.sites = 2;
  options.links.between_per_second = 100 * kMbit;
  return options;
}

// That an object takes over the way between.
double WaySeconds(const Options& options) {
  return static_cast<double>(options.size_bytes) /
         static_cast<double>(options.links.between_per_second);
}

// The worst of some seeds.
template <typename Figure>
double Worst(Options options, Figure figure) {
  double worst = 0;
  for (options.seed = 1; options.seed <= kSeeds; ++options.seed) {
    worst = std::max(worst, figure(Played(options)));
  }
  return worst;
}

constexpr auto kStretch = [](const Report& report) { return report.stretch; };
constexpr auto kWhole = [](const Report& report) { return report.seconds; };

TEST(UnequalLinks, WhoAsksFirstIsNotEverybodysRate) {
  Options options = Linked({200, 50, 100, 200, 100, 200});
  EXPECT_LT(Worst(options, kStretch), 1.2);
  options.apart = milliseconds(20);
  EXPECT_LT(Worst(options, kStretch), 1.2);
}

// Also the second time: what was measured counts for nothing.
TEST(UnequalLinks, WhereNobodyToldWhoAsksFirstIsEverybodysRate) {
  Options options = Linked({200, 50, 100, 200, 100, 200});
  options.unmeasured = true;
  EXPECT_GT(Played(options).stretch, 1.5);
  options.rounds = 2;
  const Report second = Played(options);
  EXPECT_GT(second.stretch, 1.5);
  EXPECT_EQ(second.completed, 5u);
  EXPECT_TRUE(second.replay.ends_with(" --rounds 2 --unmeasured")) << second.replay;
}

TEST(UnequalLinks, OfThoseInOnePassTheFasterOnesComeFirst) {
  Options options = Linked({200, 50, 100, 200, 100, 200});
  options.size_bytes = 4_MiB;
  options.spread = {};
  EXPECT_LT(Played(options).stretch, 1.2);
}

// Each receiver that is being moved may have two sources: there are 2^n ways up a chain of n. And of
// many each looks for a better source more seldom.
TEST(UnequalLinks, ManyWhoMoveAtOnceAreSoonPlanned) {
  Options options = TwoSites(400);
  options.links.sites = 3;
  options.size_bytes = 4_MiB;
  options.latency = std::chrono::microseconds(100);
  options.links.bytes_per_second = {200 * kMbit};
  options.bytes_per_second = 200 * kMbit;
  options.spread = milliseconds(200);
  const Report report = Played(options);
  EXPECT_EQ(report.completed, 399u);
  EXPECT_LT(report.moves, 3u * 399) << report.replay;
}

TEST(UnequalLinks, ALinkThatFallsIsNotBelievedIn) {
  Options options = Linked(std::vector<std::uint64_t>(6, 200));
  options.apart = milliseconds(20);
  options.links.changes = {{.node = 3, .at = milliseconds(300), .bytes_per_second = 50 * kMbit}};
  const double slow = static_cast<double>(options.size_bytes) / static_cast<double>(50 * kMbit);
  EXPECT_LT(Worst(options, kWhole), slow);
}

TEST(UnequalLinks, SixteenReceiversGetWhatTheirOwnAllow) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    std::vector<std::uint64_t> rates{400};
    while (rates.size() < 17) rates.push_back(50U << random.Below(4));
    Options options = Linked(rates);
    options.apart = milliseconds(10);
    sum += Played(options).stretch;
  }
  EXPECT_LT(sum / kSeeds, 1.35);
}

TEST(UnequalLinks, OneStreamEntersASite) {
  Options options = TwoSites(8);
  EXPECT_LT(Worst(options, kWhole), 1.15 * WaySeconds(options));
  options.apart = milliseconds(20);
  EXPECT_LT(Worst(options, kWhole), 1.15 * WaySeconds(options));
  options.kill_at = {{.node = 1, .at = milliseconds(500)}};
  EXPECT_LT(Worst(options, kWhole), 1.3 * WaySeconds(options));
}

// The first one at home and the one that crosses would share the source's link: 2.0.
TEST(UnequalLinks, ALineGoesThroughItsSourcesSiteFirst) {
  Options options = TwoSites(8);
  options.size_bytes = 64_MiB;
  options.latency = std::chrono::microseconds(100);
  options.links.between_per_second = 400 * kMbit;
  options.spread = {};
  EXPECT_LT(Worst(options, kStretch), 1.02);
  for (const std::uint32_t sites : {2U, 3U, 4U, 6U}) {
    options.links.sites = sites;
    options.spread = {};
    EXPECT_LT(Worst(options, kStretch), 1.02) << sites;
    options.spread = milliseconds(2);
    EXPECT_LT(Worst(options, kStretch), 1.1) << sites;
    options.spread = milliseconds(40);
    EXPECT_LT(Worst(options, kStretch), 1.15) << sites;
  }
}

// Each site's way out carries one stream, or what two streams get of it is half as much: 2 to 2.7.
TEST(UnequalLinks, ALineLeavesEachSiteOnce) {
  Options options = TwoSites(8);
  options.size_bytes = 32_MiB;
  options.latency = std::chrono::microseconds(100);
  for (const std::uint32_t sites : {2U, 3U, 4U, 6U}) {
    options.links.sites = sites;
    EXPECT_LT(Worst(options, kStretch), 1.15) << sites;
  }
}

// So many receivers would form a forest.
TEST(UnequalLinks, TheWayToManyOfAnotherSiteIsUsedOnce) {
  for (const std::uint64_t size : {1_MiB, 4_MiB}) {
    Options options = TwoSites(32);
    options.size_bytes = size;
    const Report report = Played(options);
    EXPECT_EQ(report.completed, 31U);
    EXPECT_LT(report.seconds, 1.1 * WaySeconds(options) + 0.1) << report.replay;
  }
}

// What crosses in less than a move's time goes down a tree, whoever stands where.
TEST(UnequalLinks, ASmallObjectKeepsItsTreeAcrossSites) {
  Options options{.nodes = 100, .size_bytes = 64_KiB, .latency = milliseconds(1)};
  options.links.sites = 2;
  EXPECT_LT(Played(options).seconds, 10e-3);
}

TEST(UnequalLinks, ManyReceiversFormNoForest) {
  std::vector<std::uint64_t> rates;
  while (rates.size() < 48) rates.push_back(400U >> (rates.size() % 4));
  Options options = Linked(rates);
  options.size_bytes = 8_MiB;
  EXPECT_LT(Played(options).stretch, 2);
}

}  // namespace
}  // namespace hoplite::sim
