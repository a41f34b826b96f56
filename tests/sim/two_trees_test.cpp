// Reductions of very many sources whose target all of them read, in the planner world: two trees up,
// a forest down. Times beside the model, and what losses cost. Few nodes
// are forced to make two trees; very many do so by themselves (scaling_test.cpp).
#include <gtest/gtest.h>

#include "base/units.h"
#include "everyone_reads.h"
#include "planner/copies/broadcast_cost.h"
#include "sim/planner_world/reduce.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;

Options InTwoTrees(std::uint32_t nodes) {
  Options options = Allreduce(nodes);
  options.reduce->two_trees = true;
  return options;
}

// Up as a forest and down as one; and the messages before the first byte.
double Model(const Options& options) {
  const protocol::LinkModel link{options.latency, Duration{0},
                                 static_cast<double>(options.bytes_per_second)};
  const Layout layout = Layout::For(options.size_bytes, options.stripes);
  return 2 * planner::ForestSeconds(2, options.nodes - 1, layout, link) +
         10 * ToSeconds(options.latency);
}

// That is above the bound: an inner node receives the object once in each half, and who only sends
// in the first one waits for the root's first block.
TEST(SimTwoTrees, TheyTakeTheTimeOfTheirModel) {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 5U, 8U, 16U, 31U}) {
    const Options options = InTwoTrees(nodes);
    const Report report = Finished(options);
    EXPECT_EQ(report.roots, 2U) << nodes;
    EXPECT_EQ(report.completed, nodes);
    EXPECT_LT(report.seconds, Model(options)) << nodes;
  }
}

TEST(SimTwoTrees, WhileASourceIsLateItIsOneTree) {
  Options options = InTwoTrees(9);
  options.reduce->straggler = milliseconds(50);
  const Report report = Finished(options);
  EXPECT_EQ(report.roots, 1U);
  EXPECT_EQ(report.completed, 9U);
}

TEST(SimTwoTrees, ANodeWithoutMemoryMakesItOneTree) {
  Options options = InTwoTrees(12);
  options.reduce->poor_nodes = 1;
  const Report report = Finished(options);
  EXPECT_EQ(report.roots, 1U);
  EXPECT_EQ(report.completed, 12U);
}

TEST(SimTwoTrees, WhoAskLateGetItToo) {
  Options options = InTwoTrees(20);
  options.reduce->get_spread = milliseconds(50);
  EXPECT_EQ(Finished(options).completed, 20U);
}

// Who survives makes it anew, with the lost source when that is there again.
TEST(SimTwoTrees, AMemberThatDiesIsReplaced) {
  Options options = InTwoTrees(12);
  options.reduce->put_again = milliseconds(30);
  options.grace = milliseconds(20);  // a source is put again when its last holder is lost
  // A root, one that folds, one that sends only.
  for (const std::uint32_t node : {1U, 2U, 4U, 11U}) {
    for (const std::int64_t at : {0, 3, 8, 12, 16, 20}) {
      options.kill_at = {{node, milliseconds(at)}};
      const Report report = Finished(options);
      EXPECT_TRUE(report.committed) << node << " at " << at;
      EXPECT_EQ(report.completed, 11U) << node << " at " << at;
      EXPECT_LT(report.seconds, 0.2) << node << " at " << at;
    }
  }
}

TEST(SimTwoTrees, ASpareTakesThePlaceOfWhoDied) {
  Options options = InTwoTrees(12);
  options.reduce->num_objects = 10;
  options.kill_at = {{2, milliseconds(5)}};
  const Report report = Finished(options);
  EXPECT_TRUE(report.committed);
  EXPECT_EQ(report.completed, 11U);
}

TEST(SimTwoTrees, ARestartOfTheDirectoryStartsThemAgain) {
  Options options = InTwoTrees(10);
  options.restarts = 1;
  for (options.seed = 1; options.seed <= 5; ++options.seed) {
    EXPECT_TRUE(Finished(options).committed) << options.seed;
  }
}

// A node gets its last byte, an END before that, while the directory is away: it is whole all the
// same. (Two of them pulled the other's stripes, and waited for each other's END.)
TEST(SimTwoTrees, WhoGetsTheLastByteWithoutASessionIsWhole) {
  Options options = InTwoTrees(18);
  options.size_bytes = 1_MiB;
  options.stripes = 12;
  options.bytes_per_second = 125'000'000;
  options.seed = 1149;
  options.kills = 1;
  options.restarts = 1;
  options.reduce->put_again = options.reduce->get_spread = milliseconds(30);
  EXPECT_GE(Finished(options).completed, 17U) << "all but the one that is killed";
}

// --- planted faults

TEST(SimTwoTrees, RootsOfDifferentVersionsAreCaught) {
  const std::string found = Noticed(InTwoTrees(6), PlantedFault::kOneVersionPerRoot);
  EXPECT_TRUE(found.starts_with("S7")) << found;
}

TEST(SimTwoTrees, ACommitBeforeAnybodyHasAllIsCaught) {
  const std::string found = Noticed(InTwoTrees(6), PlantedFault::kCommitsAtTheLastFold);
  EXPECT_TRUE(found.starts_with("P6")) << found;
}

}  // namespace
}  // namespace hoplite::sim
