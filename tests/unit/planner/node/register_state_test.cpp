// What a node decides about the registers that its clients have open: R90-R96. Told in the order in
// which it happens.
#include "planner/node/register_state.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using Ended = RegisterState::Outcome;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr RegisterState::Handle kClientAnn = 1;
constexpr RegisterState::Handle kClientBob = 2;

Version Number(std::uint64_t sequence) { return {{1, sequence}}; }

// A node's clients, and the shard as the node hears it.
class Opened : public ::testing::Test {
 public:
  Opened() {
    state_.SessionOpened();
    state_.Open(kClientAnn, it_, effects_);
  }

  void Hear(RegisterNews news) {
    news.object = it_;
    state_.Hear(news, effects_);
  }
  void HearEntry(std::uint64_t sequence, std::uint64_t claim = 0, bool writer = false) {
    Hear({.entry = EntryOf(sequence, claim), .writer = writer});
  }
  static RegisterContents EntryOf(std::uint64_t sequence, std::uint64_t claim = 0) {
    return {.version = Number(sequence),
            .claim = claim == 0 ? Version() : Number(claim),
            .value = std::to_string(sequence)};
  }
  // What was said since the last time.
  std::vector<RegisterUse> Said() {
    std::vector<RegisterUse> words;
    for (const NodeEvent& event : std::exchange(effects_.say, {})) {
      words.push_back(std::get<RegisterUse>(event));
    }
    return words;
  }
  // The call under way, as the last word has it.
  std::optional<RegisterCall> Call() {
    const auto words = Said();
    return words.empty() ? std::nullopt : words.back().call;
  }
  std::vector<std::pair<RegisterState::Ticket, Ended>> Answers() {
    std::vector<std::pair<RegisterState::Ticket, Ended>> answers;
    for (const auto& one : std::exchange(effects_.answer, {})) {
      answers.emplace_back(one.ticket, one.outcome);
    }
    return answers;
  }

  RegisterState state_;
  RegisterState::Effects effects_;
  const ObjectId it_ = ObjectId::FromName("it");
};

TEST_F(Opened, AWriteIsAnsweredByWhatItWroteAlsoWhereALaterEntryIsKnown) {
  state_.Write(kClientAnn, it_, 1, {.value = "4", .claims = true}, effects_);
  const auto call = Call();
  HearEntry(5, 4, true);
  effects_.answer.clear();
  Hear({.entry = EntryOf(4, 4),
        .writer = true,
        .outcome = RegisterOutcome::kWritten,
        .call = call->number});
  ASSERT_THAT(effects_.answer, SizeIs(1));
  EXPECT_EQ(effects_.answer[0].entry, EntryOf(4, 4));
  EXPECT_EQ(state_.Known(it_)->version, Number(5));
  EXPECT_EQ(state_.ClaimOf(kClientAnn, it_), Number(4)) << "that write was of its claim";
}

TEST_F(Opened, IsSaidOnceWithWhatIsKnown) {
  state_.Open(kClientBob, it_, effects_);
  const auto words = Said();
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_TRUE(words[0].open);
  EXPECT_EQ(words[0].knows, RegisterContents());
  state_.Close(kClientBob, it_, effects_);
  EXPECT_THAT(Said(), IsEmpty()) << "another client has it open";
  state_.Close(kClientAnn, it_, effects_);
  const auto last = Said();
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_FALSE(last[0].open);
  EXPECT_GT(last[0].number, words[0].number);
}

TEST_F(Opened, WritesGoOneByOneAndNameTheNumberOfTheirClient) {
  HearEntry(7);
  Said();
  state_.Write(kClientAnn, it_, 1, {.expected = Number(3), .value = "a"}, effects_);
  state_.Write(kClientAnn, it_, 2, {.expected = Number(7), .value = "b"}, effects_);
  const auto first = Call();
  ASSERT_TRUE(first && first->write);
  EXPECT_EQ(first->write->expected, Number(3)) << "R90";
  Hear({.entry = EntryOf(7), .outcome = RegisterOutcome::kConflict, .call = first->number});
  EXPECT_THAT(Answers(), ElementsAre(std::pair(1, Ended::kConflict)));
  const auto second = Call();
  ASSERT_TRUE(second && second->write);
  EXPECT_EQ(second->write->value, "b");
  Hear({.entry = EntryOf(8), .outcome = RegisterOutcome::kWritten, .call = second->number});
  EXPECT_THAT(Answers(), ElementsAre(std::pair(2, Ended::kWritten)));
}

TEST_F(Opened, AnAnswerToAnotherCallIsNews) {
  state_.Get(kClientAnn, it_, 1, effects_);
  const auto call = Call();
  Hear({.entry = EntryOf(2), .outcome = RegisterOutcome::kRead, .call = call->number + 5});
  EXPECT_THAT(Answers(), IsEmpty());
  EXPECT_EQ(state_.Known(it_)->version, Number(2));
}

TEST_F(Opened, AnAnswerIsThatOfAllReadsBeforeItsCall) {
  state_.Write(kClientAnn, it_, 1, {.value = "a"}, effects_);
  state_.Get(kClientAnn, it_, 2, effects_);
  state_.Get(kClientAnn, it_, 3, effects_);
  const auto write = Call();
  ASSERT_TRUE(write->write);
  Hear({.entry = EntryOf(1), .outcome = RegisterOutcome::kWritten, .call = write->number});
  EXPECT_THAT(Answers(), ElementsAre(std::pair(1, Ended::kWritten))) << "they came after it";
  const auto read = Call();
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->write);
  Hear({.entry = EntryOf(1), .outcome = RegisterOutcome::kRead, .call = read->number});
  EXPECT_THAT(Answers(), ElementsAre(std::pair(2, Ended::kEntry), std::pair(3, Ended::kEntry)));
}

TEST_F(Opened, AWaitEndsWithALaterNumber) {
  HearEntry(4);
  state_.Changed(kClientAnn, it_, 1, Number(3), false, effects_);
  EXPECT_THAT(Answers(), ElementsAre(std::pair(1, Ended::kEntry))) << "that is known";
  state_.Changed(kClientAnn, it_, 2, Number(4), false, effects_);
  HearEntry(4);
  EXPECT_THAT(Answers(), IsEmpty());
  HearEntry(6);
  EXPECT_THAT(Answers(), ElementsAre(std::pair(2, Ended::kEntry)));
}

TEST_F(Opened, ThatNoWriterIsLeftIsAskedAfterTheWaitBegan) {
  HearEntry(4, 4, false);
  Said();
  state_.Changed(kClientAnn, it_, 1, Number(4), false, effects_);
  EXPECT_THAT(Answers(), IsEmpty()) << "that may have been long ago (R96)";
  const auto read = Call();
  ASSERT_TRUE(read);
  Hear({.entry = EntryOf(4, 4), .outcome = RegisterOutcome::kRead, .call = read->number});
  EXPECT_THAT(Answers(), ElementsAre(std::pair(1, Ended::kNoWriter)));
}

TEST_F(Opened, WhoWaitsForALaterNumberOnlyIsNotToldOfWriters) {
  HearEntry(4, 4, false);
  Said();
  state_.Changed(kClientAnn, it_, 1, Number(4), true, effects_);
  EXPECT_THAT(Said(), IsEmpty());
  state_.Changed(kClientAnn, it_, 2, Number(4), false, effects_);
  const auto read = Call();
  Hear({.entry = EntryOf(4, 4), .outcome = RegisterOutcome::kRead, .call = read->number});
  EXPECT_THAT(Answers(), ElementsAre(std::pair(2, Ended::kNoWriter)));
  HearEntry(5, 5, true);
  EXPECT_THAT(Answers(), ElementsAre(std::pair(1, Ended::kEntry)));
}

TEST_F(Opened, WhereNobodyEverClaimedAWaitGoesOn) {
  HearEntry(4);
  Said();
  state_.Changed(kClientAnn, it_, 1, Number(4), false, effects_);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_THAT(Answers(), IsEmpty());
}

TEST_F(Opened, AClaimEndsWithTheNext) {
  state_.Write(kClientAnn, it_, 1, {.value = "a", .claims = true}, effects_);
  const auto call = Call();
  Hear({.entry = EntryOf(1, 1),
        .writer = true,
        .outcome = RegisterOutcome::kWritten,
        .call = call->number});
  EXPECT_EQ(state_.ClaimOf(kClientAnn, it_), Number(1));
  HearEntry(2, 1, true);
  EXPECT_EQ(state_.ClaimOf(kClientAnn, it_), Number(1)) << "somebody wrote, and claimed nothing";
  Said();
  HearEntry(3, 3, true);
  EXPECT_EQ(state_.ClaimOf(kClientAnn, it_), Version());
  const auto words = Said();
  ASSERT_THAT(words, SizeIs(1)) << "the claim waits for it (R96)";
  EXPECT_EQ(words[0].claim, Version());
}

TEST_F(Opened, WhatWasGivenUpIsAskedNoMore) {
  state_.Write(kClientAnn, it_, 1, {.value = "a"}, effects_);
  const auto call = Call();
  state_.GiveUp(it_, 1, effects_);
  const auto words = Said();
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_FALSE(words[0].call);
  Hear({.entry = EntryOf(1), .outcome = RegisterOutcome::kWritten, .call = call->number});
  EXPECT_THAT(Answers(), IsEmpty());
}

TEST_F(Opened, ACloseEndsItsCallsAndItsClaim) {
  state_.Open(kClientBob, it_, effects_);
  state_.Write(kClientBob, it_, 1, {.value = "b", .claims = true}, effects_);
  const auto call = Call();
  Hear({.entry = EntryOf(1, 1),
        .writer = true,
        .outcome = RegisterOutcome::kWritten,
        .call = call->number});
  state_.Changed(kClientBob, it_, 2, Number(1), false, effects_);
  Answers();
  state_.Close(kClientBob, it_, effects_);
  const auto words = Said();
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_TRUE(words[0].open);
  EXPECT_EQ(words[0].claim, Version());
  HearEntry(2, 1);
  EXPECT_THAT(Answers(), IsEmpty());
}

TEST_F(Opened, AnInventoryHasItAll) {
  state_.Write(kClientAnn, it_, 1, {.value = "a", .claims = true}, effects_);
  const auto call = Call();
  HearEntry(2, 2, true);
  state_.SessionEnded();
  state_.Get(kClientAnn, it_, 2, effects_);
  EXPECT_THAT(Said(), IsEmpty()) << "nobody would hear it";
  const std::uint64_t before = state_.number();
  state_.SessionOpened();
  const auto told = state_.Inventory(it_);
  ASSERT_TRUE(told);
  EXPECT_GT(told->number, before) << "not taken for a word of the session before (R95)";
  EXPECT_EQ(told->knows, EntryOf(2, 2));
  EXPECT_EQ(told->call, call) << "by the number that it had";
  EXPECT_THAT(state_.After(std::nullopt, 5), ElementsAre(it_));
}

TEST_F(Opened, ASessionsFirstWordHasWhatIsKnown) {
  HearEntry(2);
  state_.SessionEnded();
  state_.SessionOpened();
  Said();
  state_.Get(kClientAnn, it_, 1, effects_);
  const auto words = Said();
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_EQ(words[0].knows, EntryOf(2));
}

TEST_F(Opened, BeyondTheLimitAllAreAnswered) {
  state_.Get(kClientAnn, it_, 1, effects_);
  state_.Write(kClientAnn, it_, 2, {.value = "a"}, effects_);
  state_.Changed(kClientAnn, it_, 3, {}, false, effects_);
  Hear({.outcome = RegisterOutcome::kLimit});
  EXPECT_THAT(Answers(), ElementsAre(std::pair(2, Ended::kLimit), std::pair(1, Ended::kLimit),
                                     std::pair(3, Ended::kLimit)));
  Said();
  state_.Get(kClientAnn, it_, 4, effects_);
  const auto words = Said();
  ASSERT_THAT(words, SizeIs(1)) << "there may be room by now";
  EXPECT_TRUE(words[0].knows);
}

}  // namespace
}  // namespace hoplite::planner
