// What waits in a session, in which order it leaves, and how much of it may be under way.
#include "directory/session_outbox.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;
using protocol::InlineObject;
using protocol::Location;
using protocol::LocationKind;
using protocol::NodeAction;
using protocol::Recall;

constexpr Time kNow{};

ObjectId Object(int number) { return ObjectId::FromName(std::to_string(number)); }
NodeAction Bulk(int number, std::size_t bytes = 64 * 1024) {
  return InlineObject{Object(number), {}, "", std::make_shared<const std::string>(bytes, 'x')};
}
constexpr NodeId kFirstHolder{1};
constexpr NodeId kSecondHolder{2};
NodeAction Notice(int number, NodeId node, protocol::LocationKind kind) {
  protocol::Location notice;
  notice.object = Object(number);
  notice.node = node;
  notice.kind = kind;
  return notice;
}
NodeAction Word(int number) { return Recall{Object(number), {}}; }

class SessionOutboxTest : public testing::Test {
 protected:
  // The objects of what leaves now, and "B" behind those of bulk.
  std::string Leave() {
    std::string objects;
    while (auto departure = outbox_.Next(kNow)) {
      if (departure->number) asked_ = *departure->number;
      for (const NodeAction& word : departure->words) {
        for (int number = 0; number < 10; ++number) {
          if (protocol::ObjectOf(word) == Object(number)) objects += std::to_string(number);
        }
        if (std::holds_alternative<InlineObject>(word)) objects += "B";
      }
    }
    return objects;
  }

  static constexpr Pace kSteady{.first_window = Pace().window};
  SessionOutbox<NodeAction> outbox_{kSteady};
  std::uint64_t asked_ = 0;
};

TEST_F(SessionOutboxTest, WhatIsInAHurryLeavesBeforeBulk) {
  outbox_.Push(Bulk(1));
  outbox_.Push(Bulk(2));
  outbox_.Push(Word(3));
  outbox_.Push(Word(4));
  EXPECT_EQ(Leave(), "341B2B");
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(outbox_.waiting_bytes(), 0u);
}

TEST_F(SessionOutboxTest, WordsOfOneObjectKeepTheirOrder) {
  outbox_.Push(Bulk(1));
  outbox_.Push(Word(1));
  outbox_.Push(Word(2));
  outbox_.Push(Bulk(1));
  outbox_.Push(Word(1));
  EXPECT_EQ(Leave(), "21B11B1");
  outbox_.Push(Word(1));
  outbox_.Push(Bulk(2));
  EXPECT_EQ(Leave(), "12B");
}

TEST_F(SessionOutboxTest, PartsOfAnInventoryAreBulkHoweverSmall) {
  outbox_.PushBulk(Word(1));
  outbox_.PushBulk(Word(2));
  outbox_.Push(Word(3));
  outbox_.Push(Word(2));
  EXPECT_EQ(Leave(), "3122");
}

TEST_F(SessionOutboxTest, WhoKeepsUpIsToldEveryChange) {
  outbox_.Push(Notice(1, kFirstHolder, LocationKind::kPartial));
  outbox_.Push(Notice(1, kFirstHolder, LocationKind::kComplete));
  outbox_.Push(Notice(1, kFirstHolder, LocationKind::kGone));
  EXPECT_EQ(Leave(), "111");
}

// A notice tells the newest state of a copy, so a slow subscriber needs no earlier one.
TEST_F(SessionOutboxTest, WhatWaitsForASlowSubscriberDoesNotGrowWithTheChanges) {
  for (int i = 0; i < 10; ++i) outbox_.Push(Bulk(i));
  Leave();  // a window of it
  for (int i = 0; i < 10'000; ++i) {
    outbox_.Push(Notice(11, kSecondHolder, LocationKind::kGone));
    outbox_.Push(Notice(11, kFirstHolder, LocationKind::kGone));
    outbox_.Push(Notice(11, kSecondHolder, LocationKind::kComplete));
    outbox_.Push(Notice(11, kFirstHolder, LocationKind::kComplete));
  }
  EXPECT_LT(outbox_.waiting_bytes(), 6 * 64 * 1024u + 1000u);
  outbox_.Taken(asked_, kNow);
  const auto left = outbox_.Next(kNow);
  ASSERT_TRUE(left);
  EXPECT_EQ(std::get<Location>(left->words[0]).node, kSecondHolder);
  EXPECT_EQ(std::get<Location>(left->words[0]).kind, LocationKind::kComplete);
  EXPECT_EQ(std::get<Location>(left->words[1]).node, kFirstHolder);
  EXPECT_EQ(std::get<Location>(left->words[1]).kind, LocationKind::kComplete);
  EXPECT_TRUE(std::holds_alternative<InlineObject>(left->words[2]));
  outbox_.Push(Notice(11, kFirstHolder, LocationKind::kGone));  // nothing of it waits any more
  EXPECT_GT(outbox_.waiting_bytes(), 5 * 64 * 1024u);
}

TEST_F(SessionOutboxTest, ANoticePassesNoOtherWordOfItsObject) {
  for (int i = 2; i < 10; ++i) outbox_.Push(Bulk(i));
  outbox_.Push(Notice(1, kFirstHolder, LocationKind::kComplete));
  outbox_.Push(Word(1));
  outbox_.Push(Notice(1, kFirstHolder, LocationKind::kGone));
  outbox_.Push(Notice(1, kFirstHolder, LocationKind::kComplete));
  outbox_.Push(Word(0));
  EXPECT_EQ(Leave().substr(0, 4), "1110");
}

// A large notice waits among the bulk, even where a small one waits in the other lane.
TEST_F(SessionOutboxTest, ALargeNoticeTakesNoPlaceOfASmallOne) {
  NodeAction large = Notice(1, kFirstHolder, LocationKind::kComplete);
  std::get<Location>(large).metadata.assign(2 * kHurryBytes, 'x');
  for (int i = 2; i < 10; ++i) outbox_.Push(Bulk(i));
  outbox_.Push(Notice(1, kFirstHolder, LocationKind::kGone));
  for (int i = 0; i < 100; ++i) {
    outbox_.Push(large);
    outbox_.Push(Notice(1, kFirstHolder, LocationKind::kGone));
  }
  outbox_.Push(large);
  outbox_.Push(Word(0));
  EXPECT_EQ(Leave(), "102B3B4B5B");
  outbox_.Taken(asked_, kNow);
  EXPECT_EQ(Leave(), "6B7B8B9B");
  outbox_.Taken(asked_, kNow);
  EXPECT_EQ(Leave(), "1");
}

TEST_F(SessionOutboxTest, AWindowIsUnderWayAtMost) {
  for (int i = 0; i < 10; ++i) outbox_.Push(Bulk(i));
  EXPECT_EQ(Leave(), "0B1B2B3B");
  EXPECT_LE(outbox_.sent(), Pace().window + Pace().part + 1024);
  outbox_.Push(Word(9));
  // Words count, too; otherwise what stands before a heartbeat would have no bound.
  EXPECT_EQ(Leave(), "");
  outbox_.Taken(1, kNow);
  EXPECT_EQ(Leave(), "4B");
  outbox_.Taken(asked_, kNow);
  EXPECT_EQ(Leave(), "5B6B7B8B");
  outbox_.Taken(asked_, kNow);
  EXPECT_EQ(Leave(), "9B9");
}

TEST_F(SessionOutboxTest, MessagesAreOfOnePartAndWordsShareThem) {
  for (int i = 0; i < 9; ++i) outbox_.Push(Bulk(i, 8 * 1024));
  const auto first = outbox_.Next(kNow);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->words.size(), 8u);
  EXPECT_TRUE(first->number);
}

TEST_F(SessionOutboxTest, AsMuchIsUnderWayAsIsTakenWithinAMoment) {
  outbox_ = SessionOutbox<NodeAction>();
  const auto round = [&](Duration takes) {
    const std::uint64_t before = outbox_.sent();
    for (int i = 0; i < 300; ++i) outbox_.Push(Bulk(1, 2 * 1024));
    while (auto departure = outbox_.Next(kNow)) asked_ = departure->number.value_or(asked_);
    outbox_.Taken(asked_, kNow + takes);
    return (outbox_.sent() - before) / 1024;
  };
  const auto about = [](std::uint64_t kilobytes) {
    return testing::AllOf(testing::Ge(kilobytes), testing::Le(kilobytes * 5 / 4 + 3));
  };
  EXPECT_THAT(round(1ms), about(32));
  EXPECT_THAT(round(1ms), about(64));
  EXPECT_THAT(round(1ms), about(128));
  EXPECT_THAT(round(100ms), about(256));
  EXPECT_THAT(round(201ms), about(256));
  EXPECT_THAT(round(1s), about(128));
  EXPECT_THAT(round(1s), about(64));
  EXPECT_THAT(round(1s), about(32));
  EXPECT_THAT(round(1s), about(16));
  EXPECT_THAT(round(1ms), about(16));
}

// A few words are not worth an answer each.
TEST_F(SessionOutboxTest, AsksNowAndThen) {
  std::size_t questions = 0;
  for (int i = 0; i < 10'000; ++i) {
    outbox_.Push(Word(i % 10));
    const auto departure = outbox_.Next(kNow);
    ASSERT_TRUE(departure);
    if (!departure->number) continue;
    ++questions;
    outbox_.Taken(*departure->number, kNow);
  }
  EXPECT_EQ(questions, 10'000 * 64 / Pace().ask_every);
  EXPECT_LE(outbox_.sent() - outbox_.taken(), Pace().ask_every);
}

TEST_F(SessionOutboxTest, WhoTakesNothingIsToldFromWhoIsSlow) {
  const Duration lease = 1s;
  EXPECT_EQ(outbox_.StalledAt(lease), kNever);  // it was asked nothing
  for (int i = 0; i < 4; ++i) outbox_.Push(Bulk(i));
  outbox_.Next(kNow + 10s);
  outbox_.Next(kNow + 10500ms);
  EXPECT_EQ(outbox_.StalledAt(lease), kNow + 11s);
  outbox_.Taken(1, kNow + 12s);
  EXPECT_EQ(outbox_.StalledAt(lease), kNow + 13s);
  outbox_.Taken(2, kNow + 14s);
  EXPECT_EQ(outbox_.StalledAt(lease), kNever);
}

TEST_F(SessionOutboxTest, ANumberThatWasNeverGivenChangesNothingMore) {
  outbox_.Push(Bulk(1));
  outbox_.Next(kNow);
  outbox_.Taken(77, kNow);
  EXPECT_EQ(outbox_.taken(), outbox_.sent());
  outbox_.Taken(0, kNow);
  EXPECT_EQ(outbox_.taken(), outbox_.sent());
}

}  // namespace
}  // namespace hoplite::directory
