// A version that several members make together, each the origin of its own stripes, and that all
// read: who feeds whom, and with how many streams.
#include "roots.h"

#include <map>

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(Roots, AVersionIsStartedInGroupsEachWithItsOrigin) {
  Make(4);
  ASSERT_EQ(table().group_count(), 4U);
  for (std::uint32_t member = 1; member <= 4; ++member) {
    EXPECT_EQ(table().stripes(member - 1), Made(member));
    EXPECT_EQ(table().origin(member - 1), Node(member));
  }
}

TEST_F(Roots, ItIsThereWhileAllItsMakersAre) {
  Make(4);
  EXPECT_TRUE(record().exists());
  Lose(Node(3));
  EXPECT_FALSE(record().exists());
}

// Its copy goes when its node says so, or is lost.
TEST_F(Roots, AMemberThatWantsNothingMoreStillMakesItsPart) {
  Make(4);
  WantAll();
  Plan();
  transfers_.On(Node(3), CancelWant{id_, record().version});
  EXPECT_TRUE(record().exists());
  for (const GrantId grant : GrantsOf(Node(3))) Close(Node(3), grant, Outcome::kAbandoned);
  EXPECT_EQ(At(Node(3)).parked(), 0U);
  transfers_.On(Node(3), CopyGone{id_, record().version, GoneReason::kDropped});
  EXPECT_FALSE(record().exists());
}

// --- the ring

class RootsOf : public Roots, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  RootsOf() { Make(GetParam()); }
  // Each member has all that it does not make from its predecessor, as one stream.
  void ExpectRing() {
    for (std::uint32_t each = 1; each <= members_; ++each) {
      EXPECT_EQ(FeedsOf(Node(each)), (Feeds{{Node(Before(each)), AllBut(Made(each))}}))
          << "member " << each;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Members, RootsOf, ::testing::Values(2, 4, 8, 16));

// Each has others than its two neighbours.
class RootsOfMany : public RootsOf {};
INSTANTIATE_TEST_SUITE_P(Members, RootsOfMany, ::testing::Values(4, 8, 16));

TEST_P(RootsOf, EachIsFedByItsPredecessorThroughOneStream) {
  WantAll();
  const Told told = Plan();
  EXPECT_THAT(told, SizeIs(members_));
  for (const auto& [to, grant] : told) {
    EXPECT_TRUE(grant.equality_ok);
    EXPECT_EQ(grant.stripes, FeedsOf(to).begin()->second) << "it is told of all stripes at once";
  }
  ExpectRing();
}

TEST_P(RootsOf, TheOrderOfComingMakesNoDifference) {
  for (std::uint32_t each = members_; each > 0; --each) Want(Node(each));
  EXPECT_THAT(Plan(), SizeIs(members_));
  ExpectRing();
}

// Its successor had stood behind its predecessor, and is moved behind it in one piece.
TEST_P(RootsOfMany, WhoComesALittleLaterTakesItsPlaceInTheRing) {
  for (std::uint32_t each = 1; each <= members_; ++each) {
    if (each != 3) Want(Node(each));
  }
  Plan();
  EXPECT_EQ(FeedsOf(Node(4)), (Feeds{{Node(2), AllBut(Made(3) | Made(4))}, {Node(3), Made(3)}}));
  Want(Node(3));
  EXPECT_THAT(Plan(), SizeIs(2));
  EXPECT_EQ(FeedsOf(Node(3)), (Feeds{{Node(2), AllBut(Made(3))}}));
  EXPECT_EQ(FeedsOf(Node(4)), (Feeds{{Node(3), AllBut(Made(3) | Made(4))}, {Node(3), Made(3)}}));
}

TEST_P(RootsOf, WhoeverOnlyReadsStandsBehindTheMembers) {
  const NodeId reader{15};  // in the ring it would stand between the first two
  Want(reader);
  WantAll();
  Plan();
  ExpectRing();
  Feeds tails;  // of each line the member before its origin
  for (std::uint32_t each = 1; each <= members_; ++each) {
    tails.emplace(Node(Before(each)), Made(each));
  }
  EXPECT_EQ(FeedsOf(reader), tails);
}

TEST_P(RootsOf, WhoeverReadsNextStandsBehindTheReaderWithOneStream) {
  const NodeId reader{15};
  const NodeId late{16};
  WantAll();
  Want(reader);
  Plan();
  Want(late);
  Plan(seconds(10));
  EXPECT_EQ(FeedsOf(late), (Feeds{{reader, layout_.all_stripes()}}));
}

// All from one source, and it is none itself.
TEST_P(RootsOf, ALeafHasAllFromOneSource) {
  const NodeId leaf{15};
  WantAll();
  Want(leaf, true);
  Plan();
  ExpectRing();
  Plan();
  const Feeds feeds = FeedsOf(leaf);
  ASSERT_THAT(feeds, SizeIs(1));
  EXPECT_EQ(feeds.begin()->second, layout_.all_stripes());
}

TEST_P(RootsOf, NoSourceServesTwoLeaves) {
  WantAll();
  for (std::uint64_t leaf = 1; leaf <= 2 * members_; ++leaf) Want(NodeId{1000 + leaf}, true);
  for (int pass = 0; pass < 3; ++pass) Plan();
  std::map<NodeId, int> leaves;
  for (const auto& [grant, open] : table().grants()) {
    if (!open.leaf) continue;
    EXPECT_EQ(open.stripes, layout_.all_stripes());
    ++leaves[open.source];
  }
  EXPECT_THAT(leaves, SizeIs(members_));
  for (const auto& [source, serves] : leaves) EXPECT_EQ(serves, 1) << ToString(source);
}

// --- losses

// A reader in the middle of all lines: who stood behind it lost all its groups.
TEST_P(RootsOf, WhoLostItsSourceInAllGroupsHasOneStreamAgain) {
  const NodeId first{15};
  const NodeId middle{16};
  const NodeId last{17};
  WantAll();
  for (const NodeId reader : {first, middle, last}) {
    Want(reader);
    Plan(seconds(10));
  }
  ASSERT_EQ(FeedsOf(last), (Feeds{{middle, layout_.all_stripes()}}));
  const GrantId lost = GrantsOf(last).front();
  Lose(middle);
  const Told told = Plan();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told.front().second.replaces, lost);
  EXPECT_EQ(FeedsOf(last), (Feeds{{first, layout_.all_stripes()}}));
}

// What only the lost member made is nowhere else; the rest goes on past the gap.
TEST_P(RootsOfMany, ALostMemberLeavesAGapInTheOthersLines) {
  WantAll();
  Plan();
  const GrantId lost = GrantsOf(Node(4)).front();
  Lose(Node(3));
  const Told told = Plan();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told.front().second.replaces, lost);
  EXPECT_EQ(FeedsOf(Node(4)), (Feeds{{Node(2), AllBut(Made(3) | Made(4))}}));
  EXPECT_EQ(At(Node(4)).parked(), Made(3));
}

TEST_P(RootsOf, ARefusedStreamOfSeveralGroupsComesBackAsOne) {
  WantAll();
  Plan();
  Close(Node(2), GrantsOf(Node(2)).front(), Outcome::kFailed, Failure::kNotAhead);
  EXPECT_FALSE(At(Node(2)).place(0).orphan) << "its source gets bytes, and makes some: it is late";
  EXPECT_THAT(Plan(), SizeIs(1));
  ExpectRing();
}

// Everybody behind it depends on it in what its source makes.
TEST_P(RootsOfMany, AfterAFailureItsSourcesSourceFeedsIt) {
  WantAll();
  Plan();
  Close(Node(2), GrantsOf(Node(2)).front(), Outcome::kFailed, Failure::kBroken);
  EXPECT_THAT(Plan(), SizeIs(1));
  EXPECT_EQ(FeedsOf(Node(2)), (Feeds{{Node(Before(1)), AllBut(Made(1) | Made(2))}}));
  EXPECT_EQ(At(Node(2)).parked(), Made(1));
}

// --- moves

class RootsAndReaders : public RootsOf {
 protected:
  // The first stands behind the members, the last behind the first.
  static constexpr NodeId kFirst{15};
  static constexpr NodeId kLast{17};

  RootsAndReaders() {
    WantAll();
    for (const NodeId reader : {kFirst, kLast}) {
      Want(reader);
      Plan(seconds(10));
    }
    for (std::uint32_t each = 1; each <= members_; ++each) {
      Has(Node(each), StripeMarks(kStripes, 60));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Members, RootsAndReaders, ::testing::Values(2, 4, 8, 16));

TEST_P(RootsAndReaders, AStarvedStreamOfSeveralGroupsIsMovedAsAWhole) {
  const NodeId whole{500};
  Join(whole);
  books_.nodes.EndInventory(whole);
  transfers_.On(whole, CopyComplete{id_, record().version});
  const GrantId before = GrantsOf(kLast).front();
  Has(kLast, layout_.empty_marks(), seconds(5));
  const Told told = Plan();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told.front().second.replaces, before);
  EXPECT_EQ(FeedsOf(kLast), (Feeds{{whole, layout_.all_stripes()}}));
}

// Who makes a group can't serve the others for ever.
TEST_P(RootsAndReaders, AStarvedStreamIsNotMovedToWhoMakesAPart) {
  const NodeId part{500};
  Join(part);
  books_.nodes.EndInventory(part);
  books_.objects.Touch(id_, part);
  table().Add(part);
  table().Edit(part, [&](Copy& copy) {
    copy.listed = true;
    copy.produces = Made(1);
    copy.order = books_.stamps.NextRequest();
  });
  Has(kLast, layout_.empty_marks(), seconds(5));
  EXPECT_THAT(Plan(), IsEmpty());
}

// Who has more in one group takes the source of who has less there; in the other groups that one's
// source goes on.
TEST_P(RootsAndReaders, APlaceIsTakenInTheGroupsInWhichOneHasMore) {
  const NodeId more{18};
  StripeMarks marks = layout_.empty_marks();
  for (const std::uint32_t stripe : StripesOf(Made(1))) marks[stripe] = 50;
  Has(kFirst, marks);
  for (const std::uint32_t stripe : StripesOf(Made(1))) marks[stripe] = 5;
  const GrantId before = GrantsOf(kLast).front();
  Want(more, false, marks);
  const Told told = Plan(seconds(10));
  ASSERT_THAT(told, SizeIs(4));
  EXPECT_EQ(told[1].second.replaces, before);
  EXPECT_EQ(told[2].second.replaces, before);
  EXPECT_EQ(FeedsOf(kLast), (Feeds{{more, Made(1)}, {kFirst, AllBut(Made(1))}}));
  EXPECT_EQ(FeedsOf(more), (Feeds{{kFirst, Made(1)}, {kLast, AllBut(Made(1))}}));
}

TEST_P(RootsAndReaders, APlaceIsTakenAsAWholeWhereOneHasMoreInAll) {
  const NodeId more{18};
  Has(kFirst, StripeMarks(kStripes, 50));
  const GrantId before = GrantsOf(kLast).front();
  Want(more, false, StripeMarks(kStripes, 5));
  const Told told = Plan(seconds(10));
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[1].second.replaces, before);
  EXPECT_EQ(FeedsOf(more), (Feeds{{kFirst, layout_.all_stripes()}}));
  EXPECT_EQ(FeedsOf(kLast), (Feeds{{more, layout_.all_stripes()}}));
}

// --- slow relays

class SlowReader : public RootsAndReaders {
 protected:
  static constexpr NodeId kFaster{18};

  // The node gets a block of each stripe in 300 ms, though its source has more.
  void GetLittle(NodeId slow) {
    for (std::uint32_t blocks = 0; blocks < 4; ++blocks) {
      Has(slow, StripeMarks(kStripes, blocks));
      if (blocks < 3) Plan(milliseconds(300));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Members, SlowReader, ::testing::Values(2, 4, 8, 16));

TEST_P(SlowReader, IsPassedInAllGroupsAtOnce) {
  Want(kFaster);
  Plan(seconds(10));
  books_.nodes.NoteShown(kFaster, 1e9);
  Has(kFirst, StripeMarks(kStripes, 60));
  GetLittle(kLast);
  ASSERT_THAT(Plan(), SizeIs(1));
  EXPECT_EQ(FeedsOf(kFaster), (Feeds{{kFirst, layout_.all_stripes()}}));
  EXPECT_EQ(FeedsOf(kLast), (Feeds{{kFirst, layout_.all_stripes()}}));
  StripeMarks more(kStripes, 3);
  more[0] = 4;  // in the object's order that is next
  Has(kFaster, more);
  ASSERT_THAT(Plan(), SizeIs(1));
  EXPECT_EQ(FeedsOf(kLast), (Feeds{{kFaster, layout_.all_stripes()}})) << "it is ahead";
}

// Each of its sources may be the slow one.
TEST_P(SlowReader, WithSeveralSourcesIsNotJudged) {
  books_.nodes.NoteShown(kLast, 1e9);
  GetLittle(kFirst);
  EXPECT_THAT(Plan(), IsEmpty());
}

// --- the first pass

class FirstPass : public Roots {
 protected:
  FirstPass() {
    Make(4);
    record().joint = true;
  }
};

TEST_F(FirstPass, WaitsForThoseWhoMakeSomeAndHaveNotAsked) {
  for (std::uint32_t each = 1; each < 4; ++each) Want(Node(each));
  EXPECT_THAT(Plan(), IsEmpty());
  Want(Node(4));
  EXPECT_THAT(Plan(), SizeIs(4));
}

TEST_F(FirstPass, WaitsForThemNoLongerThanForOthers) {
  for (std::uint32_t each = 1; each < 4; ++each) Want(Node(each));
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_THAT(Plan(milliseconds(10)), SizeIs(4)) << "three, and the gap has its origin beside";
}

}  // namespace
}  // namespace hoplite::planner
