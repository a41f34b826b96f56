// The larger searches, without sanitizers.
#include <gtest/gtest.h>

#include "sim/small_world/search.h"
#include "testing/histories.h"

namespace hoplite::sim {
namespace {

// The histories must have come to rest in so many ways.
void ExpectSound(const SmallOptions& options, std::uint64_t rests = 2) {
  if (!test::ItsTurn()) GTEST_SKIP() << test::kNotItsTurn;
  const SearchResult result = Search(options, 5'000'000);
  EXPECT_EQ(result.violation, "") << result.ToString();
  EXPECT_TRUE(result.exhausted) << result.states;
  EXPECT_GE(result.rests, rests);
}

TEST(ExhaustiveSlow, FourNodesWithoutFaults) { ExpectSound({.nodes = 4}); }

TEST(ExhaustiveSlow, FourNodesWithASlowLink) {
  ExpectSound({.nodes = 4, .blocks = 1, .slow_link = true});
}

TEST(ExhaustiveSlow, ASlowLinkAndARestartOfTheDirectory) {
  ExpectSound({.blocks = 1, .restarts = 1, .slow_link = true});
}

TEST(ExhaustiveSlow, TwoSitesAndARestartOfTheDirectory) {
  ExpectSound({.blocks = 1, .restarts = 1, .two_sites = true});
}

TEST(ExhaustiveSlow, TwoSitesAndASumOfFourNodesWithOneDeath) {
  ExpectSound({.nodes = 4, .blocks = 1, .deaths = 1, .two_sites = true, .sources = 2});
}

TEST(ExhaustiveSlow, TwoStripesOverASlowLinkWithOneDeath) {
  ExpectSound({.blocks = 1, .stripes = 2, .deaths = 1, .slow_link = true});
}

TEST(ExhaustiveSlow, OneRestartOfTheDirectoryAtAnyMoment) { ExpectSound({.restarts = 1}); }

TEST(ExhaustiveSlow, OneDeathWhileTwoStripesAreAtDifferentStages) {
  ExpectSound({.blocks = 3, .stripes = 2, .deaths = 1, .growing = true, .unequal = true});
}

TEST(ExhaustiveSlow, OneDeathWhileAWindowIsFedByUnequalStripes) {
  ExpectSound({.stripes = 2, .deaths = 1, .growing = true, .unequal = true, .window = 1});
}

// The producer dies and another node puts other bytes under the same id, at any moment.
TEST(ExhaustiveSlow, OtherBytesUnderTheSameId) { ExpectSound({.deaths = 1, .put_again = true}); }

TEST(ExhaustiveSlow, AReductionOfTwoOfThreeSourcesWithOneDeath) {
  ExpectSound({.nodes = 3, .blocks = 1, .deaths = 1, .sources = 3, .wanted = 2});
}

// The node that asks for the sum has no source, and may die like the others.
TEST(ExhaustiveSlow, AReductionForAnotherNodeWithOneDeath) {
  ExpectSound({.nodes = 3, .blocks = 1, .deaths = 1, .put_again = true, .sources = 2});
}

TEST(ExhaustiveSlow, RoomThatIsNeededElsewhere) {
  ExpectSound({.deaths = 1, .room = true, .loses_room = true});
}

TEST(ExhaustiveSlow, AReductionByStripesWithOneDeath) {
  ExpectSound({.nodes = 2,
               .blocks = 10,
               .stripes = 2,
               .stride = 5,
               .deaths = 1,
               .put_again = true,
               .sources = 2,
               .everyone_reads = true});
}

// One folds the other two, each in one half of the stripes, and reads the rest.
TEST(ExhaustiveSlow, AReductionInTwoTrees) {
  ExpectSound({.nodes = 3,
               .blocks = 10,
               .stripes = 2,
               .stride = 5,
               .sources = 3,
               .everyone_reads = true,
               .two_trees = true});
}

// --- two that can't connect (R68)

// Neither can fold what the other makes, or only one of them; with a third, and without.
TEST(ExhaustiveSlow, AReductionOfTwoSourcesThatCannotConnect) {
  for (const std::uint32_t nodes : {2U, 3U}) {
    for (const SmallCut& cut :
         {SmallCut{.receiver = 0, .source = 1}, SmallCut{}, SmallCut{.both_ways = true}}) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, n" << cut.receiver << " of n"
                                      << cut.source << (cut.both_ways ? ", both ways" : ""));
      ExpectSound({.nodes = nodes, .blocks = 1, .cut = cut, .sources = 2}, 1);
    }
  }
}

TEST(ExhaustiveSlow, AReductionOfTwoSourcesThatAreCutOffAtAnyMoment) {
  ExpectSound(
      {.nodes = 3, .blocks = 1, .cut = SmallCut{.both_ways = true, .late = true}, .sources = 2});
}

TEST(ExhaustiveSlow, AReductionOfTwoSourcesThatCanConnectAgain) {
  ExpectSound(
      {.nodes = 2, .blocks = 1, .cut = SmallCut{.both_ways = true, .heals = true}, .sources = 2});
}

}  // namespace
}  // namespace hoplite::sim
