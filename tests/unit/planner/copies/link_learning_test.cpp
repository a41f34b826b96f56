// What rates say of links.
#include "planner/copies/link_learning.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/units.h"
#include "planner/serving/rates.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kFrom{1};
constexpr NodeId kOne{2};
constexpr NodeId kTwo{3};
constexpr std::uint64_t kFast = 100'000'000;  // bytes per second

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
  StripeMarks Marks(std::uint32_t mib) const {
    return StripeMarks(1, static_cast<std::uint32_t>(mib * (1_MiB / layout_.block_bytes)));
  }
  // So many MiB have come to it since it was last asked.
  void Comes(NodeId node, std::uint32_t mib) {
    has_[node] += mib;
    table_.RaiseMarks(node, Marks(has_[node]));
    samples_.Note(node, table_, now_, now_);
  }
  void Pass(Duration time = milliseconds(100)) { now_ += time; }
  double Learn(NodeId node) {
    return LinkLearning(table_, samples_, false).Learn(node, 0, now_, nodes_);
  }
  // Its stream begins, and two windows show that so much comes in each.
  void See(NodeId node, std::uint32_t first, std::uint32_t second) {
    for (const std::uint32_t mib : {1U, 1U, first, second}) Comes(node, mib), Pass();
  }
  // So many MiB in each tenth of a second.
  static double Rate(std::uint32_t mib) { return 10.0 * mib * 1_MiB; }
  double Shown(NodeId node) const { return nodes_.Find(node)->shown; }
  double Limit(NodeId node) const { return nodes_.LimitOf(node, now_); }
  double Sends(NodeId node) const { return nodes_.SendsOf(node, now_); }

  const Layout layout_ = Layout::For(1024_MiB, 1);
  CopyTable table_{layout_, kFrom};
  FlowSamples samples_;
  NodeTable nodes_;
  Time now_ = Time{} + std::chrono::seconds(1);

 private:
  std::map<NodeId, std::uint32_t> has_;
};

TEST_F(LinkLearningTest, TheLessOfTwoWindowsIsShownOfBothLinks) {
  Join(kFrom, "", 0);
  Join(kOne, "", 0);
  Serve(kOne);
  See(kOne, 4, 2);
  Learn(kOne);
  EXPECT_EQ(Shown(kOne), Rate(2));
  EXPECT_EQ(Shown(kFrom), Rate(2));
  EXPECT_EQ(Limit(kOne), 0) << "its source was not shown to have more";
}

// R124: the disk may have been slower than both links.
TEST_F(LinkLearningTest, AStreamFromADiskTeachesNoLink) {
  Join(kFrom, "", 0);
  Join(kOne, "", 0);
  table_.Edit(kFrom, [](Copy& copy) { copy.on_disk = true; });
  Serve(kOne);
  See(kOne, 4, 4);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Limit(kOne), 0);
  EXPECT_EQ(Shown(kOne), Rate(4)) << "so much it carried all the same";
  table_.Edit(kFrom, [](Copy& copy) { copy.on_disk = false; });
  See(kOne, 4, 4);
  EXPECT_GT(Learn(kOne), 0);
}

// One that is late makes a window long and the next one short, if time is that of the hearing.
TEST_F(LinkLearningTest, TheNodesOwnClockCounts) {
  Join(kOne, "", 0);
  Serve(kOne);
  std::uint32_t has = 0;
  for (int report = 0; report < 6; ++report, has += 2) {
    table_.RaiseMarks(kOne, Marks(has));
    samples_.Note(kOne, table_, now_ + report * milliseconds(100), now_);
  }
  EXPECT_EQ(samples_.RateOf(kOne, table_).least, Rate(2));
  EXPECT_EQ(samples_.RateOf(kOne, table_).most, Rate(2));
}

TEST_F(LinkLearningTest, WhoTellsNoTimeHasNoRate) {
  Serve(kOne);
  for (std::uint32_t has = 0; has < 20; has += 2) {
    table_.RaiseMarks(kOne, Marks(has));
    EXPECT_FALSE(samples_.Note(kOne, table_, Time{}, now_));
  }
  EXPECT_EQ(samples_.RateOf(kOne, table_).most, 0);
}

// What a bucket or a socket kept comes at once.
TEST_F(LinkLearningTest, AWindowHasEnoughBytes) {
  Serve(kOne);
  const Layout small = Layout::For(16_MiB, 1);
  CopyTable table(small, kFrom);
  table.Add(kFrom);
  table.Edit(kFrom, [](Copy& copy) { copy.complete = copy.listed = true; });
  table.Add(kOne);
  table.Edit(kOne, [](Copy& copy) { copy.wanted = 1; });
  table.Open(GrantId{{1, 1}}, {.receiver = kOne, .source = kFrom, .stripes = 1}, now_, 16);
  const auto blocks = static_cast<std::uint32_t>(256_KiB / small.block_bytes);
  std::uint32_t answers = 0;
  for (std::uint32_t report = 1; report <= 12; ++report, Pass()) {
    table.RaiseMarks(kOne, StripeMarks(1, report * blocks));
    answers += samples_.Note(kOne, table, now_, now_) ? 1 : 0;
  }
  EXPECT_EQ(answers, 3U) << "each of 300 ms";
}

TEST_F(LinkLearningTest, AWholeObjectShowsItsBytesByItsTimeAndAMoment) {
  Join(kFrom, "", 0);
  Join(kOne, "", 0);
  Serve(kOne);
  constexpr std::uint32_t all = 1024;
  Comes(kOne, 1), Pass(milliseconds(30));
  Comes(kOne, 1), Pass(milliseconds(50));
  Comes(kOne, all - 2);
  Learn(kOne);
  EXPECT_NEAR(Shown(kOne), Rate(all - 2) * 100 / 150, 1);
}

TEST_F(LinkLearningTest, WhoIsServedAloneAndGetsLittleHasASlowLink) {
  Join(kOne, "");
  Serve(kOne);
  See(kOne, 1, 2);
  EXPECT_EQ(Learn(kOne), Rate(2)) << "the more of two windows";
  EXPECT_EQ(Limit(kOne), Rate(2));
  EXPECT_EQ(Sends(kOne), Rate(2));
  EXPECT_EQ(Sends(kFrom), kFast);
}

TEST_F(LinkLearningTest, AtAnUnknownSourceNobodyIsSlow) {
  Join(kFrom, "", 0);
  Join(kOne, "");
  Serve(kOne);
  See(kOne, 1, 1);
  Learn(kOne);
  EXPECT_EQ(Limit(kOne), kFast) << "as it told";
}

TEST_F(LinkLearningTest, WhatIsSlowCountsForAWhile) {
  Join(kOne, "");
  Serve(kOne);
  See(kOne, 1, 1);
  Learn(kOne);
  EXPECT_EQ(Limit(kOne), Rate(1));
  EXPECT_TRUE(Rates::Count(table_, nodes_, true, now_));
  EXPECT_FALSE(Rates::Count(table_, nodes_, false, now_));
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(Limit(kOne), kFast);
  EXPECT_FALSE(Rates::Count(table_, nodes_, true, now_));
}

TEST_F(LinkLearningTest, WhoseLinkCarriesMoreIsNotSlowAnyMore) {
  Join(kOne, "");
  Serve(kOne);
  See(kOne, 1, 1);
  Learn(kOne);
  for (int window = 0; window < 2; ++window) Comes(kOne, 8), Pass();
  Learn(kOne);
  EXPECT_EQ(Limit(kOne), kFast);
}

TEST_F(LinkLearningTest, OfThoseWhoShareASourceTheSourceIsTheLimit) {
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1), Comes(kTwo, 1);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Limit(kOne), kFast);
  EXPECT_EQ(Sends(kFrom), 2 * Rate(1));
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(Sends(kFrom), kFast);
}

// Streams share a link unfairly: the smaller one does not say that its receiver's link is slow.
TEST_F(LinkLearningTest, WhoGetsLessThanItsShareOfAFullLinkIsNotSlow) {
  Join(kFrom, "", static_cast<std::uint64_t>(Rate(5)));
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1), Comes(kTwo, 4);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Limit(kOne), kFast);
}

TEST_F(LinkLearningTest, WhoGetsLittleWhileItsSourceHasMuchLeftIsSlow) {
  Join(kFrom, "", static_cast<std::uint64_t>(Rate(20)));
  Join(kOne, "", static_cast<std::uint64_t>(Rate(20)));
  Join(kTwo, "", static_cast<std::uint64_t>(Rate(5)));
  for (const NodeId node : {kOne, kTwo}) Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 1), Comes(kTwo, 5);
  EXPECT_EQ(Learn(kOne), Rate(1));
}

// What a stream took that is gone is in the sum of none.
TEST_F(LinkLearningTest, NothingIsLearnedWhileTheSourceServesOthersThanBefore) {
  for (const NodeId node : {kOne, kTwo}) Join(node, "");
  Serve(kOne);
  See(kOne, 1, 1);
  Serve(kTwo);
  EXPECT_EQ(Learn(kOne), 0);
  Comes(kOne, 1), Pass();
  EXPECT_EQ(Learn(kOne), 0);
  table_.Close(GrantId{{1, Raw(kTwo)}});
  for (int window = 0; window < 2; ++window) {
    EXPECT_EQ(Learn(kOne), 0);
    Comes(kOne, 1), Pass();
  }
  Comes(kOne, 1), Pass();
  EXPECT_EQ(Learn(kOne), Rate(1));
}

TEST_F(LinkLearningTest, TheSumOfItsStreamsIsShownOfASource) {
  Join(kFrom, "", 0);
  for (const NodeId node : {kOne, kTwo}) Join(node, "", 0), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 2), Comes(kTwo, 3);
  Learn(kOne);
  EXPECT_EQ(Shown(kFrom), Rate(5));
  EXPECT_EQ(Shown(kOne), Rate(2));
}

// The other one stands still, and leaves its part of the source's link to this one.
TEST_F(LinkLearningTest, WhatCameToAnotherBeforeIsInNoSum) {
  Join(kFrom, "", 0);
  for (const NodeId node : {kOne, kTwo}) Join(node, "", 0), Serve(node);
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 5), Comes(kTwo, 5);
  Learn(kOne);
  EXPECT_EQ(Shown(kFrom), Rate(10));
  for (int tenth = 0; tenth < 4; ++tenth, Pass()) Comes(kOne, 10), Learn(kOne);
  EXPECT_EQ(Shown(kFrom), Rate(10));
}

TEST_F(LinkLearningTest, MeasurementsDoNotReplaceWhatWasTold) {
  Join(kOne, "", static_cast<std::uint64_t>(Rate(1)));
  Serve(kOne);
  See(kOne, 4, 4);
  Learn(kOne);
  EXPECT_EQ(nodes_.ProvenOf(kOne), Rate(1));
  EXPECT_EQ(Limit(kOne), Rate(1));
}

TEST_F(LinkLearningTest, AStreamBetweenSitesSaysOnlyWhatThatWayCarries) {
  Join(kOne, "east");
  Serve(kOne);
  See(kOne, 1, 1);
  EXPECT_EQ(Learn(kOne), 0);
  EXPECT_EQ(Limit(kOne), kFast);
  EXPECT_EQ(nodes_.RateOfWay("", "east"), Rate(1));
}

TEST_F(LinkLearningTest, RatesCountWhereLinksWereToldToDiffer) {
  for (const NodeId node : {kOne, kTwo}) Join(node, ""), Serve(node);
  EXPECT_FALSE(Rates::Count(table_, nodes_, true, now_));
  Join(kTwo, "", kFast / 2);
  EXPECT_TRUE(Rates::Count(table_, nodes_, true, now_));
}

}  // namespace
}  // namespace hoplite::planner
