// What rates say of links (R104).
#include "planner/link_learning.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/units.h"
#include "planner/rates.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kFrom{1};
constexpr NodeId kOne{2};
constexpr NodeId kTwo{3};
constexpr std::uint64_t kFast = 24'000'000;  // bytes per second

class LinkLearningTest : public ::testing::Test {
 protected:
  LinkLearningTest() {
    Join(kFrom, "");
    table_.Add(kFrom);
    table_.Edit(kFrom, [](Copy& copy) { copy.complete = copy.listed = true; });
  }
  void Join(NodeId node, const std::string& site, std::uint64_t link = kFast) {
    nodes_.Join({node, "n" + ToString(node), "h:1", site, link}, now_);
  }
  void Serve(NodeId node) {
    table_.Add(node);
    table_.Edit(node, [](Copy& copy) { copy.wanted = 1; });
    table_.Open(GrantId{{1, Raw(node)}}, {.receiver = node, .source = kFrom, .stripes = 1}, now_,
                16);
  }
  // So much comes to it in each of a few tenths of a second.
  void Comes(NodeId node, std::uint32_t blocks) {
    has_[node] += blocks;
    table_.RaiseMarks(node, StripeMarks(1, has_[node]));
    samples_.Note(node, table_, now_);
  }
  void Pass() { now_ += milliseconds(100); }
  double Learn(NodeId node) {
    return LinkLearning(table_, samples_, false).Learn(node, 0, now_, nodes_);
  }
  double Rate(std::uint32_t blocks) const {
    return 10.0 * blocks * static_cast<double>(layout_.block_bytes);
  }
  double Carries(NodeId node) const { return nodes_.Find(node)->carries; }
  double Sends(NodeId node) const { return nodes_.SendsOf(node, now_); }

  const Layout layout_ = Layout::For(256_MiB, 1);
  CopyTable table_{layout_, kFrom};
  FlowSamples samples_;
  NodeTable nodes_;
  Time now_{};

 private:
  std::map<NodeId, std::uint32_t> has_;
};

TEST_F(LinkLearningTest, WhoIsServedAloneAndGetsLittleHasASlowLink) {
  Join(kOne, "");
  Serve(kOne);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1);
  EXPECT_EQ(Learn(kOne), Rate(1));
  EXPECT_EQ(Carries(kOne), Rate(1));
  EXPECT_EQ(Sends(kOne), Carries(kOne));
  EXPECT_EQ(Sends(kFrom), kFast);
}

TEST_F(LinkLearningTest, OfThoseWhoShareASourceTheSourceIsTheLimit) {
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1), Comes(kTwo, 1);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Carries(kOne), kFast);
  EXPECT_EQ(Sends(kFrom), 2 * Rate(1));
}

// Streams share a link unfairly: the smaller one does not say that its receiver's link is slow.
TEST_F(LinkLearningTest, WhoGetsLessThanItsShareOfAFullLinkIsNotSlow) {
  Join(kFrom, "", static_cast<std::uint64_t>(Rate(5)));
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1), Comes(kTwo, 4);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Carries(kOne), kFast);
}

TEST_F(LinkLearningTest, WhoGetsLittleWhileItsSourceHasMuchLeftIsSlow) {
  Join(kFrom, "", static_cast<std::uint64_t>(Rate(20)));
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1), Comes(kTwo, 4);
  EXPECT_GT(Learn(kOne), 0);
  EXPECT_LT(Carries(kOne), kFast);
}

// A stream begins slowly where links are busy.
TEST_F(LinkLearningTest, WhileAStreamGrowsItsReceiverIsNotSlow) {
  Join(kOne, "");
  Serve(kOne);
  for (const std::uint32_t blocks : {1, 1, 2, 4, 6}) {
    Comes(kOne, blocks), Pass();
    if (samples_.RateOf(kOne, table_).bytes_per_second > 0) Learn(kOne);
    EXPECT_EQ(Carries(kOne), kFast);
  }
  Comes(kOne, 5);
  EXPECT_EQ(Learn(kOne), Rate(6)) << "the better one of two";
  EXPECT_EQ(Carries(kOne), Rate(6));
}

TEST_F(LinkLearningTest, OfAnUnknownLinkTheFirstSampleCounts) {
  Join(kOne, "", 0);
  Serve(kOne);
  for (const std::uint32_t blocks : {1, 1, 2}) Comes(kOne, blocks), Pass();
  Learn(kOne);
  EXPECT_EQ(Carries(kOne), Rate(2));
}

// What a stream took that is gone is in the sum of none.
TEST_F(LinkLearningTest, NothingIsLearnedWhileTheSourceServesOthersThanBefore) {
  for (const NodeId node : {kOne, kTwo}) Join(node, "");
  Serve(kOne);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) {
    if (tenth == 3) Serve(kTwo);
    Comes(kOne, 1);
  }
  Learn(kOne);
  EXPECT_EQ(Carries(kOne), kFast);
  table_.Close(GrantId{{1, Raw(kTwo)}});
  Comes(kOne, 1), Pass();
  Learn(kOne);
  EXPECT_EQ(Carries(kOne), kFast);
  for (int tenth = 0; tenth < 2; ++tenth, Pass()) Comes(kOne, 1);
  Learn(kOne);
  EXPECT_EQ(Carries(kOne), Rate(1));
}

// Of a link that is full: each could take all of it.
TEST_F(LinkLearningTest, NeitherOfTwoWhoFillTheirSourcesLinkIsSlow) {
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  Join(kOne, "", static_cast<std::uint64_t>(Rate(6)));
  Join(kFrom, "", static_cast<std::uint64_t>(Rate(10)));
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 5), Comes(kTwo, 5);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Carries(kOne), Rate(6));
}

TEST_F(LinkLearningTest, StreamsThatBothBeginDoNotFillTheirSourcesLink) {
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  for (const std::uint32_t blocks : {1, 1, 2, 4, 8}) {
    Comes(kOne, blocks), Comes(kTwo, blocks), Pass();
    if (samples_.RateOf(kOne, table_).bytes_per_second > 0) Learn(kOne), Learn(kTwo);
  }
  EXPECT_EQ(Sends(kFrom), kFast);
}

TEST_F(LinkLearningTest, WhatASourcesLinkWasSeenToTakeIsForgotten) {
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1), Comes(kTwo, 1);
  Learn(kOne);
  EXPECT_EQ(Sends(kFrom), 2 * Rate(1));
  now_ += std::chrono::seconds(10);
  EXPECT_EQ(Sends(kFrom), kFast);
}

TEST_F(LinkLearningTest, WhatNobodySawToBeALimitLatelyMayBeMore) {
  Join(kOne, "");
  Serve(kOne);
  EXPECT_EQ(nodes_.MayCarry(kOne, now_), 1.4 * kFast);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 2);
  Learn(kOne);
  EXPECT_EQ(nodes_.MayCarry(kOne, now_), Rate(2));
  EXPECT_EQ(nodes_.MayCarry(kOne, now_ + std::chrono::seconds(10)), 1.4 * Rate(2));
}

// Reports that are late, and bursts, make links differ that are alike.
TEST_F(LinkLearningTest, RatesCountWhereAllToldThemAndNotWhereTheyWereMeasured) {
  for (const NodeId node : {kOne, kTwo}) Join(node, "", 0), Serve(node);
  nodes_.NoteCarried(kOne, kFast, now_);
  nodes_.NoteCarried(kTwo, kFast / 2.0, now_);
  EXPECT_FALSE(Rates::Count(table_, nodes_, true));
  Join(kTwo, "", kFast / 2);
  EXPECT_FALSE(Rates::Count(table_, nodes_, true));
  Join(kOne, "");
  EXPECT_TRUE(Rates::Count(table_, nodes_, true));
  nodes_.NoteCarried(kTwo, kFast, now_);
  EXPECT_TRUE(Rates::Count(table_, nodes_, true));
  EXPECT_FALSE(Rates::Count(table_, nodes_, false));
}

TEST_F(LinkLearningTest, AStreamBetweenSitesSaysOnlyWhatThatWayCarries) {
  Join(kOne, "east");
  Serve(kOne);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Carries(kOne), kFast);
  EXPECT_EQ(nodes_.RateOfWay("", "east"), Rate(1));
}

TEST_F(LinkLearningTest, MoreThanWasKnownIsBelievedAtOnce) {
  Join(kOne, "", 1'000'000);
  Serve(kOne);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 4);
  Learn(kOne);
  EXPECT_EQ(Carries(kOne), Rate(4));
}

}  // namespace
}  // namespace hoplite::planner
