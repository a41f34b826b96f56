// Reductions whose target is read by everybody who has a source, in the planner world: each stripe
// has a root of its own (R64). Times beside the bound 2 (n - 1)/n S/B + 2 L, what a loss costs, and
// planted faults, each named by the property that it breaks.
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"
#include "everyone_reads.h"
#include "sim/planner_world/reduce.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;

double Once(const Options& options) {
  return static_cast<double>(options.size_bytes) / static_cast<double>(options.bytes_per_second);
}

TEST(SimStriped, AnAllreduceTakesWhatItsLinksCarry) {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 8U, 16U}) {
    const Report report = Finished(Allreduce(nodes, 64_MiB));
    EXPECT_EQ(report.roots, nodes);
    EXPECT_EQ(report.completed, nodes);
    EXPECT_LT(report.ratio(), 1.1) << nodes;
  }
}

TEST(SimStriped, WithoutTheOptionItIsATree) {
  Options options = Allreduce(8, 64_MiB);
  options.reduce->everyone_reads = false;
  const Report report = Finished(options);
  EXPECT_EQ(report.roots, 1U);
  EXPECT_GT(report.seconds, 1.95 * Once(options));
}

TEST(SimStriped, ATreeWhereTheOptionDoesNotCount) {
  const auto roots = [](auto change) {
    Options options = Allreduce(4);
    change(*options.reduce);
    return Finished(options).roots;
  };
  EXPECT_EQ(roots([](ReduceJob&) {}), 4U);
  EXPECT_EQ(roots([](ReduceJob& job) { job.root_here = true; }), 1U);
  EXPECT_EQ(roots([](ReduceJob& job) { job.fixed_order = true; }), 1U);
  EXPECT_EQ(roots([](ReduceJob& job) { job.degree = 2; }), 1U);
}

// It is the root of a tree of the others, who have folded theirs when it comes.
TEST(SimStriped, OneStragglerCostsItsOwnWayOnly) {
  for (const std::uint32_t nodes : {4U, 8U, 16U}) {
    Options options = Allreduce(nodes);
    options.latency = std::chrono::microseconds(20);
    options.reduce->straggler = milliseconds(200);
    const Report report = Finished(options);
    EXPECT_EQ(report.roots, 1U);
    EXPECT_LT(report.seconds - 0.2, 1.15 * Once(options)) << nodes;
  }
}

// It is where a line begins, and serves its source as it is.
TEST(SimStriped, ANodeWithoutMemoryMakesItATreeThatTakesNoLonger) {
  for (const std::uint32_t nodes : {3U, 4U, 6U, 8U}) {
    Options options = Allreduce(nodes);
    options.reduce->poor_nodes = 1;
    const Report report = Finished(options);
    EXPECT_EQ(report.roots, 1U);
    EXPECT_EQ(report.completed, nodes);
    EXPECT_LT(report.seconds, 2.2 * Once(options)) << nodes;
  }
}

// Their sources are folded by slots that others execute, several of them on one node.
TEST(SimStriped, SeveralNodesWithoutMemoryMakeItATree) {
  Options options = Allreduce(6, 1_MiB);
  options.bytes_per_second = 12'500'000;
  options.latency = std::chrono::microseconds(20);
  options.stripes = 4;
  options.reduce->poor_nodes = 2;
  const Report report = Finished(options);
  EXPECT_EQ(report.roots, 1U);
  EXPECT_EQ(report.completed, 6U);
}

// The coordinator folds for all of them: one object more over its link for each.
TEST(SimStriped, ATreeTakesAnObjectMoreForEachNodeWithoutMemory) {
  Options options = Allreduce(8, 1_MiB);
  options.reduce->everyone_gets = options.reduce->everyone_reads = false;
  options.bytes_per_second = 12'500'000;
  options.latency = std::chrono::microseconds(20);
  for (const std::uint32_t poor : {0U, 1U, 2U, 4U}) {
    options.reduce->poor_nodes = poor;
    const double expected = (1 + poor) * Once(options);
    EXPECT_NEAR(Finished(options).seconds, expected, 0.2 * Once(options)) << poor;
  }
}

// Most of its stripes have no block.
TEST(SimStriped, OfASmallObjectInVeryManyStripes) {
  Options options = Allreduce(24, 64_KiB);
  options.bytes_per_second = 12'500'000;
  options.stripes = 31;
  EXPECT_EQ(Finished(options).completed, 24U);
}

TEST(SimStriped, WhoAskLateGetItToo) {
  Options options = Allreduce(8);
  options.reduce->get_spread = milliseconds(50);
  EXPECT_EQ(Finished(options).completed, 8U);
}

// Who survives makes it anew, with the lost source when that is there again.
TEST(SimStriped, AMemberThatDiesIsReplaced) {
  Options options = Allreduce(6);
  options.reduce->put_again = milliseconds(30);
  options.grace = milliseconds(20);  // a source is put again when its last holder is lost
  for (const std::int64_t at : {0, 3, 8, 12, 16, 20}) {
    options.kill_at = {{3, milliseconds(at)}};
    const Report report = Finished(options);
    EXPECT_TRUE(report.committed) << at;
    EXPECT_EQ(report.completed, 5U) << at;
    EXPECT_LT(report.seconds, 0.2) << at;
  }
}

TEST(SimStriped, ASpareTakesThePlaceOfWhoDied) {
  Options options = Allreduce(8);
  options.reduce->num_objects = 6;
  options.kill_at = {{2, milliseconds(5)}};
  const Report report = Finished(options);
  EXPECT_TRUE(report.committed);
  EXPECT_EQ(report.completed, 7U);
}

TEST(SimStriped, WithoutItsCoordinatorNothingIsLeft) {
  Options options = Allreduce(6);
  options.kill_at = {{0, milliseconds(5)}};
  const Report report = Finished(options);
  EXPECT_FALSE(report.committed);
  EXPECT_EQ(report.completed, 0U);
}

TEST(SimStriped, ARestartOfTheDirectoryStartsItAgain) {
  Options options = Allreduce(6);
  options.restarts = 1;
  for (options.seed = 1; options.seed <= 5; ++options.seed) {
    EXPECT_TRUE(Finished(options).committed) << options.seed;
  }
}

// --- planted faults

TEST(SimStriped, RootsOfDifferentVersionsAreCaught) {
  const std::string found = Noticed(Allreduce(4), PlantedFault::kOneVersionPerRoot);
  EXPECT_TRUE(found.starts_with("S7")) << found;
}

TEST(SimStriped, ACommitBeforeAnybodyHasAllIsCaught) {
  const std::string found = Noticed(Allreduce(4), PlantedFault::kCommitsAtTheLastFold);
  EXPECT_TRUE(found.starts_with("P6")) << found;
}

// Each member waits for the one before it, and so for itself.
TEST(SimStriped, EndsThatWaitForAllStripesAreCaught) {
  const std::string found = Noticed(Allreduce(4), PlantedFault::kEndsBySeal);
  EXPECT_TRUE(found.starts_with("P9")) << found;
}

}  // namespace
}  // namespace hoplite::sim
