// The copies of one version whose stripes are planned in two groups, each from its own origin.
#include "planner/copies/copy_table.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/serving/source_selector.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Each origin has all of its group's stripes and wants the others; B and D want all.
class TwoGroups : public ::testing::Test {
 protected:
  // Members in ring order. A made the low stripes, C the high ones.
  static constexpr NodeId kA{10};
  static constexpr NodeId kB{20};
  static constexpr NodeId kC{30};
  static constexpr NodeId kD{40};
  static constexpr std::size_t kLow = 0;
  static constexpr std::size_t kHigh = 1;
  static constexpr StripeMask kLowStripes = 0b0011;
  static constexpr StripeMask kHighStripes = 0b1100;
  static constexpr StripeMask kAllStripes = kLowStripes | kHighStripes;
  static constexpr Time kSoon{milliseconds(1)};
  static constexpr Time kLater{milliseconds(2)};

  TwoGroups() {
    for (const NodeId node : {kA, kB, kC, kD}) {
      table_.Add(node);
      table_.Edit(node, [&](Copy& copy) {
        copy.order = stamps_.NextRequest();
        copy.wanted = kAllStripes;
      });
    }
    Make(kA, kLowStripes);
    Make(kC, kHighStripes);
  }
  ~TwoGroups() override { EXPECT_EQ(table_.BrokenInvariant(), expected_); }

  void Make(NodeId node, StripeMask stripes) {
    table_.Edit(node, [&](Copy& copy) {
      copy.listed = true;
      for (const std::uint32_t stripe : StripesOf(stripes)) {
        copy.marks[stripe] = layout_.stripe_block_count(stripe);
      }
      copy.done = stripes;
    });
  }
  void Produce(NodeId node, StripeMask stripes) {
    table_.Edit(node, [&](Copy& copy) {
      copy.listed = true;
      copy.produces = stripes;
    });
  }
  GrantId Open(NodeId receiver, NodeId source, StripeMask stripes, Time lag = kSoon) {
    const GrantId grant = stamps_.NextGrant();
    table_.Open(grant, {.receiver = receiver, .source = source, .stripes = stripes}, lag, 2);
    return grant;
  }
  const Copy& At(NodeId node) const { return *table_.Find(node); }
  std::vector<NodeId> Parked(std::size_t group) const {
    std::vector<NodeId> nodes;
    for (const ParkedKey& key : table_.parked(group)) nodes.push_back(key.node);
    return nodes;
  }
  std::vector<NodeId> Sources(std::size_t group) const {
    std::vector<NodeId> nodes;
    for (const SourceKey& key : table_.sources(group)) nodes.push_back(key.node);
    return nodes;
  }
  // One planning pass: which stripes go from whom to whom.
  using Fed = std::set<std::pair<std::pair<NodeId, NodeId>, StripeMask>>;
  Fed Plan() {
    const KeepApart apart;
    const LinkModel link;
    SourceSelector selector(table_, stamps_, {kSoon, link, apart, true});
    selector.Run();
    Fed fed;
    for (const Decision& made : selector.decisions()) {
      fed.insert({{made.what.source, made.what.receiver}, made.what.stripes});
    }
    return fed;
  }

  const Layout layout_ = Layout::For(64 << 20, 4);
  Stamps stamps_{1};
  CopyTable table_{layout_, StripeGroups({{kLowStripes, kA}, {kHighStripes, kC}})};
  std::string expected_;
};

TEST_F(TwoGroups, EachStandsInRingOrderFromItsOrigin) {
  EXPECT_THAT(Parked(kLow), ElementsAre(kB, kC, kD));
  EXPECT_THAT(Parked(kHigh), ElementsAre(kD, kA, kB));
  EXPECT_EQ(table_.DistanceOf(kLow, kC), 20U);
  EXPECT_EQ(table_.DistanceOf(kHigh, kC), 0U);
  EXPECT_EQ(table_.GroupOf(1), kLow);
  EXPECT_EQ(table_.GroupOf(2), kHigh);
}

TEST_F(TwoGroups, AnOriginThatIsLearnedLaterMovesItsGroupOnly) {
  table_.SetOrigin(kHigh, kA);
  EXPECT_THAT(Parked(kHigh), ElementsAre(kA, kB, kD));
  EXPECT_THAT(Parked(kLow), ElementsAre(kB, kC, kD));
}

TEST_F(TwoGroups, WhoHasMostOfAGroupComesFirstThere) {
  table_.RaiseMarks(kD, {3, 0, 0, 0});
  EXPECT_THAT(Parked(kLow), ElementsAre(kD, kB, kC));
  EXPECT_THAT(Parked(kHigh), ElementsAre(kD, kA, kB));
  table_.RaiseMarks(kB, {0, 0, 0, 1});
  EXPECT_THAT(Parked(kLow), ElementsAre(kD, kB, kC));
  EXPECT_THAT(Parked(kHigh), ElementsAre(kB, kD, kA));
}

TEST_F(TwoGroups, ACopyHasOneGroupFromOneSourceAndTheOtherFromAnother) {
  Open(kB, kA, kLowStripes, kSoon);
  Open(kB, kC, kHighStripes, kLater);
  EXPECT_EQ(At(kB).feed(0).source, kA);
  EXPECT_EQ(At(kB).feed(3).source, kC);
  EXPECT_EQ(At(kA).place(kLow).used, 2U);
  EXPECT_EQ(At(kA).place(kHigh).used, 0U);
  EXPECT_EQ(At(kC).place(kLow).used, 0U);
  EXPECT_EQ(At(kC).place(kHigh).used, 2U);
  EXPECT_EQ(At(kB).place(kLow).lag, kSoon);
  EXPECT_EQ(At(kB).place(kHigh).lag, kLater);
  EXPECT_THAT(Parked(kLow), ElementsAre(kC, kD));
  EXPECT_THAT(Parked(kHigh), ElementsAre(kD, kA));
  EXPECT_TRUE(table_.DependsOn(kB, kA, kLowStripes));
  EXPECT_FALSE(table_.DependsOn(kB, kA, kHighStripes));
}

TEST_F(TwoGroups, OnlyWhoWasGrantedOrHasSomeOfAGroupIsASourceOfIt) {
  EXPECT_THAT(Sources(kLow), ElementsAre(kA));
  EXPECT_THAT(Sources(kHigh), ElementsAre(kC));
  Open(kB, kA, kLowStripes);
  EXPECT_THAT(Sources(kLow), ElementsAre(kB, kA));
  EXPECT_THAT(Sources(kHigh), ElementsAre(kC));
}

TEST_F(TwoGroups, ALostSourceOrphansInItsGroupOnly) {
  Open(kB, kA, kLowStripes);
  Open(kD, kC, kHighStripes);
  const GrantId lost = Open(kD, kB, kLowStripes);
  table_.Remove(kB);
  EXPECT_TRUE(At(kD).place(kLow).orphan);
  EXPECT_FALSE(At(kD).place(kHigh).orphan);
  EXPECT_EQ(At(kD).superseded(kLowStripes), lost);
  EXPECT_EQ(At(kD).superseded(kHighStripes), GrantId{});
  EXPECT_EQ(At(kD).lost(kLowStripes)->lost_source, kB);
  EXPECT_EQ(At(kD).lost(kLowStripes)->fallback, kA);
  EXPECT_EQ(At(kD).feed(2).source, kC);
  EXPECT_THAT(Parked(kLow), ElementsAre(kD, kC));
  EXPECT_TRUE(table_.MayDependOn(kD, kA, kLowStripes));
  EXPECT_FALSE(table_.MayDependOn(kD, kA, kHighStripes));
}

TEST_F(TwoGroups, EachGroupThatLostItsSourceKnowsItsOwn) {
  Open(kB, kA, kLowStripes);
  Open(kB, kC, kHighStripes);
  const GrantId low = Open(kD, kB, kLowStripes);
  const GrantId high = Open(kD, kC, kHighStripes);
  table_.Remove(kB);
  table_.Remove(kC);
  EXPECT_EQ(At(kD).superseded(kLowStripes), low);
  EXPECT_EQ(At(kD).superseded(kHighStripes), high);
  table_.Edit(kD, [&](Copy& copy) { copy.StreamEnded(high); });
  EXPECT_EQ(At(kD).superseded(kLowStripes), low);
  EXPECT_EQ(At(kD).superseded(kHighStripes), GrantId{});
  EXPECT_FALSE(table_.knows_all_streams());
  Open(kD, kA, kLowStripes);
  EXPECT_FALSE(At(kD).place(kLow).orphan);
  EXPECT_TRUE(At(kD).place(kHigh).orphan);
  EXPECT_TRUE(table_.knows_all_streams());
}

TEST_F(TwoGroups, AGrantOfBothIsLostInBoth) {
  Open(kB, kA, kLowStripes);
  Open(kB, kC, kHighStripes);
  const GrantId both = Open(kD, kB, kAllStripes);
  EXPECT_EQ(At(kB).place(kLow).used, 2U);
  EXPECT_EQ(At(kB).place(kHigh).used, 2U);
  table_.Remove(kB);
  EXPECT_EQ(At(kD).superseded(kLowStripes), both);
  EXPECT_EQ(At(kD).superseded(kHighStripes), both);
  EXPECT_EQ(At(kD).lost(kLowStripes)->fallback, kA);
  EXPECT_EQ(At(kD).lost(kHighStripes)->fallback, kC);
}

TEST_F(TwoGroups, AFailedGrantNamesWhoFedItsSource) {
  Open(kB, kA, kLowStripes);
  const GrantId failed = Open(kD, kB, kLowStripes);
  const OpenGrant what = table_.grants().at(failed);
  table_.Close(failed);
  table_.NoteFailed(what);
  EXPECT_TRUE(At(kD).place(kLow).orphan);
  EXPECT_FALSE(At(kD).place(kHigh).orphan);
  EXPECT_EQ(At(kD).lost(kLowStripes)->fallback, kA);
  EXPECT_TRUE(table_.knows_all_streams());
}

// The line of each group goes round the ring from its origin, so that each node feeds its successor
// only, in both groups by one stream.
TEST_F(TwoGroups, APassMakesALineOfEach) {
  EXPECT_EQ(Plan(), (Fed{{{kA, kB}, kAllStripes},
                         {{kB, kC}, kLowStripes},
                         {{kC, kD}, kAllStripes},
                         {{kD, kA}, kHighStripes}}));
  EXPECT_THAT(Parked(kLow), IsEmpty());
  EXPECT_THAT(Parked(kHigh), IsEmpty());
  EXPECT_FALSE(table_.somebody_parked());
}

TEST_F(TwoGroups, APassAfterALossFeedsTheGroupThatLostItsSource) {
  Plan();
  table_.Remove(kB);
  EXPECT_TRUE(table_.somebody_parked());
  EXPECT_EQ(Plan(), (Fed{{{kA, kC}, kLowStripes}}));
}

// --- copies that make some stripes themselves

TEST_F(TwoGroups, WhoProducesAGroupIsFinalInThatOneOnly) {
  Produce(kA, kLowStripes);
  EXPECT_TRUE(At(kA).FinalIn(kLowStripes));
  EXPECT_FALSE(At(kA).FinalIn(kHighStripes));
  EXPECT_FALSE(At(kA).final());
  EXPECT_EQ(At(kA).parked(), kHighStripes);
  EXPECT_FALSE(table_.sources(kLow).begin()->partial);
  EXPECT_TRUE(table_.sources(kHigh).begin()->partial);
}

TEST_F(TwoGroups, ItIsWholeWhenEachGroupIsFinalSomewhere) {
  Produce(kA, kLowStripes);
  EXPECT_FALSE(table_.whole());
  Produce(kC, kHighStripes);
  EXPECT_TRUE(table_.whole());
  EXPECT_TRUE(table_.live_whole());
  table_.Edit(kA, [](Copy& copy) { copy.live = false; });
  EXPECT_TRUE(table_.whole());
  EXPECT_FALSE(table_.live_whole());
  table_.Remove(kC);
  EXPECT_FALSE(table_.whole());
  table_.Edit(kD, [](Copy& copy) {
    copy.complete = true;
    copy.produces = copy.wanted = 0;
  });
  EXPECT_TRUE(table_.whole());
  EXPECT_TRUE(table_.live_whole());
}

// They grow: whoever stands in the lines has less, and the lines begin at the producers.
TEST_F(TwoGroups, APassFeedsFromWhoProducesBeforeAnyByteIsThere) {
  for (const NodeId node : {kA, kC}) {
    table_.Edit(node, [&](Copy& copy) {
      copy.marks = layout_.empty_marks();
      copy.done = 0;
    });
  }
  Produce(kA, kLowStripes);
  Produce(kC, kHighStripes);
  EXPECT_EQ(Plan(), (Fed{{{kA, kB}, kAllStripes},
                         {{kB, kC}, kLowStripes},
                         {{kC, kD}, kAllStripes},
                         {{kD, kA}, kHighStripes}}));
}

// What it produces is never taken for a part of a circle; what it is fed is.
TEST_F(TwoGroups, AProducerDependsOnNobodyInWhatItProduces) {
  Produce(kA, kLowStripes);
  Open(kB, kA, kAllStripes);
  Open(kA, kC, kHighStripes);
  EXPECT_TRUE(table_.DependsOn(kB, kC, kHighStripes));
  EXPECT_FALSE(table_.DependsOn(kB, kC, kLowStripes));
  using Gets = std::map<NodeId, StripeMask>;
  EXPECT_EQ(table_.Behind(kC, kAllStripes), (Gets{{kA, kHighStripes}, {kB, kHighStripes}}));
  EXPECT_EQ(table_.Behind(kA, kAllStripes), (Gets{{kB, kAllStripes}}));
  table_.LowerMarks(kA, layout_.empty_marks(), {.stripes = kAllStripes});
  EXPECT_GT(At(kA).marks[0], 0U) << "nobody else speaks for what it makes";
}

TEST_F(TwoGroups, ARestartedFeedOfAProducerIsACircleOnlyInTheOtherGroup) {
  Produce(kA, kLowStripes);
  Open(kB, kA, kAllStripes);
  Open(kA, kB, kLowStripes);
  EXPECT_EQ(table_.BrokenInvariant(), "");
  Open(kA, kB, kHighStripes);
  EXPECT_THAT(table_.BrokenInvariant(), StartsWith("P2:"));
  expected_ = table_.BrokenInvariant();
}

// --- what the invariants notice, group by group

TEST_F(TwoGroups, ASourceThatServesTooManyInOneGroup) {
  Open(kB, kC, kHighStripes);
  Open(kD, kC, kHighStripes);
  table_.Edit(kC, [](Copy& copy) { copy.flows->places.Make(kHigh).limit = 1; });
  EXPECT_THAT(table_.BrokenInvariant(), StartsWith("P1:"));
  table_.Edit(kC, [](Copy& copy) { copy.flows->places.Make(kHigh).limit = 2; });
}

TEST_F(TwoGroups, UnitsThatAreCountedInTheOtherGroup) {
  Open(kB, kC, kHighStripes);
  table_.Edit(kC, [](Copy& copy) {
    std::swap(copy.flows->places.Make(kLow), copy.flows->places.Make(kHigh));
  });
  EXPECT_THAT(table_.BrokenInvariant(), StartsWith("S2:"));
  expected_ = table_.BrokenInvariant();
}

TEST_F(TwoGroups, ACircleInOneGroup) {
  Open(kB, kD, kHighStripes);
  EXPECT_EQ(table_.BrokenInvariant(), "");
  Open(kD, kB, kLowStripes);  // the other way round, but of other stripes
  EXPECT_EQ(table_.BrokenInvariant(), "");
  Open(kA, kB, kHighStripes);
  Open(kD, kA, kHighStripes);
  EXPECT_THAT(table_.BrokenInvariant(), StartsWith("P2:"));
  expected_ = table_.BrokenInvariant();
}

TEST_F(TwoGroups, AFeedWithoutItsGrant) {
  Open(kB, kA, kLowStripes);
  table_.Edit(kB, [](Copy& copy) {
    copy.flows->Insert({.grant = {{1, 99}}, .source = kC, .stripes = kHighStripes});
  });
  EXPECT_THAT(table_.BrokenInvariant(), StartsWith("S3:"));
  expected_ = table_.BrokenInvariant();
}

}  // namespace
}  // namespace hoplite::planner
