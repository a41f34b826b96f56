// Allgathers in the planner world: each object's shard plans by itself, and still no link carries
// more than its share.
#include "sim/planner_world/allgather.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;

// The links of the measured hosts.
Options Asked(std::uint32_t nodes, std::uint64_t seed, Duration spread) {
  return {.nodes = nodes,
          .size_bytes = 4_MiB,
          .bytes_per_second = 12'500'000,
          .seed = seed,
          .spread = spread};
}

AllgatherReport Gather(const Options& options, Numbering numbering = Numbering::kAlike) {
  const Result<AllgatherReport> report = RunAllgather(options, numbering);
  EXPECT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->violation, "") << report->replay;
  EXPECT_EQ(report->completed, options.nodes * (options.nodes - 1)) << report->replay;
  return *report;
}

double BusiestUpLink(Numbering numbering, std::uint32_t nodes) {
  double busiest = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const AllgatherReport report = Gather(Asked(nodes, seed, milliseconds(4)), numbering);
    busiest = std::max(busiest, report.busiest_up_link);
  }
  return busiest;
}

TEST(Allgather, NoUpLinkCarriesMoreThanWhatEachNodeReceives) {
  for (const std::uint32_t nodes : {4u, 8u}) {
    EXPECT_NEAR(BusiestUpLink(Numbering::kAlike, nodes), nodes - 1, 0.02) << nodes;
  }
}

// What the property is for: with other orders the same plans overload somebody's link.
TEST(Allgather, InOtherOrdersALinkCarriesMore) {
  for (const Numbering numbering : {Numbering::kByArrival, Numbering::kEachItsOwn}) {
    EXPECT_GT(BusiestUpLink(numbering, 4), 3.9) << static_cast<int>(numbering);
    EXPECT_GT(BusiestUpLink(numbering, 8), 7.9) << static_cast<int>(numbering);
  }
}

// Nodes stand in two sites, in turn: each object crosses once, whoever asks when. In a line of
// its own it would cross seven times.
TEST(Allgather, EachObjectEntersASiteOnce) {
  for (const Duration spread : {milliseconds(1), milliseconds(150)}) {
    Options options = Asked(8, 1, spread);
    options.links.sites = 2;
    options.links.between_per_second = options.bytes_per_second / 4;
    const double crosses = 4.0 * 4_MiB / static_cast<double>(options.links.between_per_second);
    const AllgatherReport report = Gather(options);
    EXPECT_LT(report.seconds, 1.1 * crosses + ToSeconds(spread));
    EXPECT_TRUE(report.replay.ends_with(" --sites 2 --between 25000000bit")) << report.replay;
  }
}

TEST(Allgather, TakesWhatEachNodeMustReceive) {
  for (const std::uint32_t nodes : {4u, 8u, 16u}) {
    for (const Duration spread : {milliseconds(1), milliseconds(10), milliseconds(20)}) {
      const AllgatherReport report = Gather(Asked(nodes, 1, spread));
      EXPECT_LT(report.ratio(), 1.05) << report.replay;
    }
  }
}

// Whatever a shard believes of the links before it knows them.
TEST(Allgather, TakesAsLongWhileNothingIsMeasured) {
  for (const std::uint32_t nodes : {4u, 8u}) {
    Options options = Asked(nodes, 2, milliseconds(20));
    options.unmeasured = true;
    const AllgatherReport report = Gather(options);
    EXPECT_LT(report.ratio(), 1.05) << report.replay;
    EXPECT_TRUE(report.replay.ends_with(" --unmeasured")) << report.replay;
  }
}

// A place is handed on by how much its holder has, which is little: each link carries all objects.
TEST(Allgather, BearsSomeLateness) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const AllgatherReport report = Gather(Asked(4, seed, milliseconds(50)));
    EXPECT_LT(report.ratio(), 1.1) << report.replay;
  }
}

TEST(Allgather, HasNoFaults) {
  Options options = Asked(4, 1, milliseconds(1));
  options.kills = 1;
  const Result<AllgatherReport> report = RunAllgather(options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
}

TEST(Allgather, ReportsInWordsAndAsJson) {
  const AllgatherReport report = Gather(Asked(3, 1, milliseconds(1)));
  EXPECT_NE(ToText(report).find("busiest up link     2.0"), std::string::npos) << ToText(report);
  EXPECT_NE(ToJson(report).find("\"completed\":6"), std::string::npos) << ToJson(report);
  EXPECT_TRUE(report.replay.starts_with("hoplite sim allgather --nodes 3")) << report.replay;
}

}  // namespace
}  // namespace hoplite::sim
