// Every order of messages, blocks and one fault, for three nodes and two blocks.
#include <gtest/gtest.h>

#include "sim/small_world/search.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kMostStates = 1'000'000;

// Searches all of it; the histories must have come to rest in more than one way.
void ExpectSound(const SmallOptions& options) {
  const SearchResult result = Search(options, kMostStates);
  EXPECT_EQ(result.violation, "") << result.ToString();
  EXPECT_TRUE(result.exhausted) << result.states;
  EXPECT_GT(result.rests, 1u);
}

TEST(Exhaustive, ThreeNodesWithoutFaults) { ExpectSound({}); }

TEST(Exhaustive, ThreeNodesWithTwoStripes) { ExpectSound({.stripes = 2}); }

TEST(Exhaustive, OneDeathAtAnyMoment) { ExpectSound({.deaths = 1}); }

TEST(Exhaustive, OneDeathWhileTheCopyOfTheProducerGrows) {
  ExpectSound({.deaths = 1, .growing = true});
}

TEST(Exhaustive, OneDeathWithTwoStripes) { ExpectSound({.stripes = 2, .deaths = 1}); }

// Each stripe grows by itself, so that sources lack lower blocks than they have (R19). Nobody waits
// for ever, and nobody pulls a stripe from who pulls it from him.
TEST(Exhaustive, TwoStripesAtDifferentStages) {
  ExpectSound({.blocks = 3, .stripes = 2, .growing = true, .unequal = true});
}

TEST(Exhaustive, OneDeathWhileStripesAreAtDifferentStages) {
  ExpectSound({.stripes = 2, .deaths = 1, .growing = true, .unequal = true});
}

// It asks for blocks in the object's order, and so never waits for room that only a later piece makes.
TEST(Exhaustive, AWindowWhileStripesAreAtDifferentStages) {
  ExpectSound({.blocks = 3, .stripes = 2, .growing = true, .unequal = true, .window = 1});
}

// The slow one goes behind a faster one, which may be behind it for a while: then it holds the FETCH.
TEST(Exhaustive, ASlowLink) { ExpectSound({.slow_link = true}); }

TEST(Exhaustive, ASlowLinkAndOneDeath) { ExpectSound({.deaths = 1, .slow_link = true}); }

// The last reader may have been placed first: then the other one comes to stand before it.
TEST(Exhaustive, OtherObjectsTooFromAnyMomentOn) { ExpectSound({.joins = true}); }

TEST(Exhaustive, OtherObjectsTooFromAnyMomentOnAndOneDeath) {
  ExpectSound({.deaths = 1, .joins = true});
}

TEST(Exhaustive, OtherObjectsTooFromAnyMomentOnAndARestart) {
  ExpectSound({.blocks = 1, .restarts = 1, .joins = true});
}

TEST(Exhaustive, OtherObjectsTooFromAnyMomentOnAmongFour) {
  ExpectSound({.nodes = 4, .blocks = 1, .joins = true});
}

TEST(Exhaustive, TwoSites) { ExpectSound({.nodes = 4, .blocks = 1, .two_sites = true}); }

// Whose readers want other objects, too; and of a sum, which may be recalled.
TEST(Exhaustive, TwoSitesAndOtherObjects) {
  ExpectSound({.nodes = 4, .blocks = 1, .joint = true, .two_sites = true});
}

TEST(Exhaustive, TwoSitesAndASumWithOneDeath) {
  ExpectSound({.nodes = 3, .blocks = 1, .deaths = 1, .two_sites = true, .sources = 2});
}

TEST(Exhaustive, TwoSitesAndOneDeath) { ExpectSound({.deaths = 1, .two_sites = true}); }

TEST(Exhaustive, OneDeleteAtAnyMoment) { ExpectSound({.deletes = true}); }

// The interleavings of the protocol's three rules that search found, each as a case of its own.

// "This copy is complete" is a fact and counts whatever the age of the grant: deaths take grants
// back while their last bytes arrive.
TEST(Exhaustive, ACompleteCopyCountsWhateverTheAgeOfItsGrant) {
  ExpectSound({.blocks = 1, .deaths = 1});
}

// Watermark order is the safety rule: a restarted directory does not know who feeds whom. (The same
// with two blocks is among the slow ones.)
TEST(Exhaustive, NoCycleAfterARestartOfTheDirectory) { ExpectSound({.blocks = 1, .restarts = 1}); }

// A node is a holder only while it can receive now.
TEST(Exhaustive, NobodyIsAHolderBeforeItHasMemory) {
  ExpectSound({.deaths = 1, .waits_for_memory = true});
}

// Whoever holds room while it asks wants it with the same word. It may lose the room while the
// answer is on its way (R63).
TEST(Exhaustive, WhoAskWithRoomWithOneDeath) { ExpectSound({.deaths = 1, .room = true}); }

TEST(Exhaustive, AQuestionThatIsTakenBackAndAskedAgain) {
  ExpectSound({.blocks = 1, .room = true, .asks_again = true});
}

TEST(Exhaustive, ARestartWhileWhoAskHoldRoom) {
  ExpectSound({.blocks = 1, .restarts = 1, .room = true});
}

// A reduction makes the object: only what was lost starts again, each source counts once, and
// readers get what was committed. A source that died is put again, at any moment.
TEST(Exhaustive, AReductionOfTwoSourcesWithOneDeath) {
  ExpectSound({.nodes = 2, .blocks = 1, .deaths = 1, .put_again = true, .sources = 2});
}

// (With two sources there are too many orders in which they all come back.)
TEST(Exhaustive, AReductionOfOneSourceWithARestartOfTheDirectory) {
  ExpectSound({.nodes = 2, .blocks = 1, .restarts = 1, .sources = 1});
}

// Each of two nodes makes one stripe of the sum and reads the other; a step passes a stripe.
TEST(Exhaustive, AReductionByStripes) {
  ExpectSound(
      {.nodes = 2, .blocks = 10, .stripes = 2, .stride = 5, .sources = 2, .everyone_reads = true});
}

// --- small objects that go on from node to node (R83)

TEST(ExhaustiveGives, OfWhichOneIsLost) {
  ExpectSound({.blocks = 1, .inlined = true, .lost_gives = 1});
}

TEST(ExhaustiveGives, OfWhichOneIsLostAmongFour) {
  ExpectSound({.nodes = 4, .blocks = 1, .inlined = true, .lost_gives = 1});
}

TEST(ExhaustiveGives, WithOneDeath) {
  ExpectSound({.nodes = 4, .blocks = 1, .deaths = 1, .inlined = true});
}

TEST(ExhaustiveGives, WithADeletionAndAQuestionThatIsAskedAgain) {
  ExpectSound({.nodes = 4, .blocks = 1, .asks_again = true, .deletes = true, .inlined = true});
}

TEST(ExhaustiveGives, WithARestartOfTheDirectory) {
  ExpectSound({.blocks = 1, .restarts = 1, .inlined = true, .lost_gives = 1});
}

// --- that leave from their holder (R83)

TEST(ExhaustiveGives, OfAHolderOfWhichOneIsLost) {
  ExpectSound({.nodes = 4, .blocks = 1, .inlined = true, .joint = true, .lost_gives = 1});
}

TEST(ExhaustiveGives, OfAHolderWithOneDeath) {
  ExpectSound({.nodes = 4, .blocks = 1, .deaths = 1, .inlined = true, .joint = true});
}

TEST(ExhaustiveGives, OfAHolderWithADeletionAndAQuestionThatIsAskedAgain) {
  ExpectSound({.blocks = 1, .asks_again = true, .deletes = true, .inlined = true, .joint = true});
}

TEST(ExhaustiveGives, OfAHolderWithARestartOfTheDirectory) {
  ExpectSound({.blocks = 1, .restarts = 1, .inlined = true, .joint = true, .lost_gives = 1});
}

// --- two that can't connect (R68)

constexpr SmallCut kBothWays = {.both_ways = true};

TEST(ExhaustiveCuts, AReaderGetsItByAnotherReader) { ExpectSound({.blocks = 1, .cut = kBothWays}); }

TEST(ExhaustiveCuts, AReaderGetsItByAThirdThatDidNotAsk) {
  ExpectSound({.blocks = 1, .looks_on = true, .cut = kBothWays});
}

TEST(ExhaustiveCuts, AReaderWhoseStreamIsCutAtAnyMoment) {
  ExpectSound({.looks_on = true, .cut = SmallCut{.both_ways = true, .late = true}});
}

TEST(ExhaustiveCuts, OfTwoTheReaderGetsItWhenTheyCanConnectAgain) {
  ExpectSound({.nodes = 2, .cut = SmallCut{.late = true, .heals = true}});
}

TEST(ExhaustiveCuts, AReductionByStripesOfTwo) {
  ExpectSound({.nodes = 2,
               .blocks = 10,
               .stripes = 2,
               .stride = 5,
               .cut = SmallCut{},
               .sources = 2,
               .everyone_reads = true});
}

}  // namespace
}  // namespace hoplite::sim
