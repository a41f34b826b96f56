// What a node decides about a Put: rules R3, R4, R15, R17, R47. Told in the order in which it
// happens, answered in words.
#include "planner/node/publication_state.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kBytes = 1 << 20;
const Version kThis{{1, 5}};
const Version kNewer{{1, 6}};

// The Puts of one object at a node, and the shard as this node hears it.
class Putting {
 public:
  static Putting Large() { return Putting(false); }
  static Putting Small() { return Putting(true); }

  Putting& Away() {
    in_session_ = false;
    return *this;
  }
  // A new session. What its inventory says is an answer, too.
  Putting& Back() {
    in_session_ = true;
    effects_.announce |= put_.Repeats();
    if (withdrawal_.open()) effects_.say.emplace_back(Withdraw{object_, *withdrawal_.attempt()});
    return *this;
  }
  // The client.
  Putting& Begins() {
    put_.Begin(in_session_, effects_);
    return *this;
  }
  Putting& Writes(std::uint64_t bytes = kBytes) {
    EXPECT_TRUE(put_.Advance(written_, bytes, 0));
    written_ = bytes;
    return *this;
  }
  Putting& Seals() {
    EXPECT_TRUE(put_.Seal(written_, in_session_, effects_));
    return *this;
  }
  Putting& Aborts() {
    put_.Abort(effects_);
    return *this;
  }
  Putting& WaitsNoMore(bool cancelled = false) {
    answer_ = put_.StopWaiting(cancelled, effects_);
    return *this;
  }
  // The pool, or the client itself.
  Putting& Summed() {
    marks_ = layout_.full_marks();
    return *this;
  }
  // The shard, as ShardWords hears it.
  Putting& Accepted() {
    if (!withdrawal_.open()) put_.Accept(kThis, effects_);
    return *this;
  }
  Putting& Refused(ErrorCode code, const std::string& why = "no") {
    if (withdrawal_.open()) {
      withdrawal_.Ends({.object = object_, .code = code, .message = why});
    } else {
      put_.Refuse({code, why}, effects_);
    }
    return *this;
  }
  Putting& Recalled(Version below) {
    put_.Recall(below, {ErrorCode::kRecalled, "put anew"}, effects_);
    return *this;
  }

  // What it decided since the last look.
  std::vector<std::string> Decides() {
    put_.Step(marks_, effects_);
    std::vector<std::string> words;
    if (effects_.announce) words.emplace_back("create");
    if (effects_.show) words.emplace_back("show");
    if (effects_.seal) words.emplace_back("seal");
    for (const NodeEvent& event : effects_.say) words.push_back(WordFor(event));
    if (effects_.withdraw) withdrawal_.Begin(put_.attempt());
    if (effects_.drop) words.emplace_back("drop");
    effects_ = {};
    return words;
  }
  // What its client is, or was, answered.
  std::string Answer() const {
    if (answer_) return InWords(*answer_);
    return put_.result() ? InWords(*put_.result()) : "none";
  }
  bool another_may_begin() const { return put_.result() && !withdrawal_.open(); }
  PublicationState& put() { return put_; }

 private:
  explicit Putting(bool small)
      : layout_(Layout::For(kBytes)),
        marks_(layout_.empty_marks()),
        put_(object_, layout_, small, 7) {}

  static std::string InWords(const Result<void>& result) {
    return result ? "done" : std::string(Name(result.error().code));
  }
  static std::string WordFor(const NodeEvent& event) {
    if (std::holds_alternative<CopyComplete>(event)) return "complete";
    if (const auto* withdraw = std::get_if<Withdraw>(&event)) {
      return "withdraw " + std::to_string(withdraw->attempt);
    }
    const auto* gone = std::get_if<CopyGone>(&event);
    return gone != nullptr && gone->reason == GoneReason::kAborted ? "aborted" : "another word";
  }

  const ObjectId object_ = ObjectId::FromName("x");
  const Layout layout_;
  StripeMarks marks_;
  PublicationState put_;
  Withdrawal withdrawal_;
  PublicationState::Effects effects_;
  bool in_session_ = true;
  std::uint64_t written_ = 0;
  std::optional<Result<void>> answer_;
};

// --- as it should be

TEST(PublicationState, ALargeOneIsAnnouncedBeforeItIsWritten) {
  Putting put = Putting::Large();
  put.Begins();
  EXPECT_THAT(put.Decides(), ElementsAre("create"));
  put.Accepted();
  EXPECT_THAT(put.Decides(), ElementsAre("show"));
  put.Writes().Summed();
  EXPECT_THAT(put.Decides(), IsEmpty()) << "its client may still change its mind";
  put.Seals();
  EXPECT_THAT(put.Decides(), ElementsAre("seal", "complete"));
  EXPECT_EQ(put.Answer(), "done");
}

TEST(PublicationState, ASmallOneIsAnnouncedWithItsBytes) {
  Putting put = Putting::Small();
  put.Begins().Writes();
  EXPECT_THAT(put.Decides(), IsEmpty());
  put.Seals().Summed();
  EXPECT_THAT(put.Decides(), ElementsAre("create"));
  put.Accepted();
  EXPECT_THAT(put.Decides(), ElementsAre("show", "seal", "complete"));
}

TEST(PublicationState, WhateverComesLastMakesItFinal) {
  Putting written_first = Putting::Large();
  written_first.Begins().Writes().Summed().Seals().Decides();
  EXPECT_EQ(written_first.Answer(), "none") << "the shard has not answered";
  written_first.Accepted();
  EXPECT_THAT(written_first.Decides(), ElementsAre("show", "seal", "complete"));

  Putting summed_last = Putting::Large();
  summed_last.Begins().Writes().Seals().Accepted().Decides();
  EXPECT_EQ(summed_last.Answer(), "none") << "others can't check its bytes yet";
  summed_last.Summed();
  EXPECT_THAT(summed_last.Decides(), ElementsAre("seal", "complete"));
  EXPECT_THAT(summed_last.Decides(), IsEmpty()) << "it is said once";
}

// --- words that are lost, late, or come twice

TEST(PublicationState, AnUnansweredCreateIsRepeatedInEachSession) {
  Putting put = Putting::Large();
  put.Begins().Decides();
  put.Away().Back();
  EXPECT_THAT(put.Decides(), ElementsAre("create"));
  put.Away().Back();  // the shard started anew, and the answer was lost with it
  EXPECT_THAT(put.Decides(), ElementsAre("create"));
  put.Accepted().Decides();
  put.Away().Back();
  EXPECT_THAT(put.Decides(), IsEmpty()) << "from now on the inventory speaks of its copy";
}

TEST(PublicationState, ASmallOneThatIsBeingWrittenIsNotAnnouncedByANewSession) {
  Putting put = Putting::Small();
  put.Begins().Away().Back();
  EXPECT_THAT(put.Decides(), IsEmpty());
}

TEST(PublicationState, ASecondAnswerChangesNothing) {
  Putting put = Putting::Large();
  put.Begins().Accepted().Decides();
  put.Accepted();
  EXPECT_THAT(put.Decides(), IsEmpty());
  put.Writes().Summed().Seals().Decides();
  put.Refused(ErrorCode::kAlreadyExists).Recalled(kNewer).Aborts();
  EXPECT_THAT(put.Decides(), IsEmpty()) << "it is a copy like others by now";
  EXPECT_EQ(put.Answer(), "done");
}

// --- it is given up

TEST(PublicationState, WhatTheShardNeverHeardIsNotTakenBack) {
  Putting small = Putting::Small();
  small.Begins().Writes().Aborts();
  EXPECT_THAT(small.Decides(), ElementsAre("drop"));
  Putting away = Putting::Large();
  away.Away().Begins().Decides();
  away.Aborts();
  EXPECT_THAT(away.Decides(), ElementsAre("drop"));
  EXPECT_TRUE(away.another_may_begin());
  away.Back();
  EXPECT_THAT(away.Decides(), IsEmpty());
}

TEST(PublicationState, WhatAnInventoryToldOfIsTakenBack) {
  Putting put = Putting::Large();
  put.Away().Begins().Back().Decides();
  put.Aborts();
  EXPECT_THAT(put.Decides(), ElementsAre("withdraw 7", "drop"));
}

TEST(PublicationState, AnAcceptedCopyThatIsNotWrittenIsGone) {
  Putting put = Putting::Large();
  put.Begins().Accepted().Writes(100).Decides();
  put.Aborts();
  EXPECT_THAT(put.Decides(), ElementsAre("aborted", "drop"));
  EXPECT_TRUE(put.another_may_begin()) << "the shard hears of it before it hears of the next";
  EXPECT_EQ(put.Answer(), "cancelled");
}

TEST(PublicationState, AnAcceptedCopyThatIsSealedStays) {
  Putting put = Putting::Large();
  put.Begins().Accepted().Writes().Seals().Decides();
  put.Aborts();
  EXPECT_THAT(put.Decides(), IsEmpty());
  put.WaitsNoMore();
  EXPECT_EQ(put.Answer(), "done") << "nothing can undo it";
  put.Summed();
  EXPECT_THAT(put.Decides(), ElementsAre("seal", "complete"));
}

TEST(PublicationState, ADeadlineWithoutAnAnswerTakesItBack) {
  for (const bool cancelled : {false, true}) {
    Putting put = Putting::Large();
    put.Begins().Writes().Summed().Seals().Decides();
    put.WaitsNoMore(cancelled);
    EXPECT_THAT(put.Decides(), ElementsAre("withdraw 7", "drop"));
    EXPECT_EQ(put.Answer(), cancelled ? "cancelled" : "timeout");
  }
}

TEST(PublicationState, NothingIsBelievedBeforeTheWithdrawalIsConfirmed) {
  Putting put = Putting::Large();
  put.Begins().Aborts().Decides();
  put.Accepted();  // it crossed the Withdraw
  EXPECT_THAT(put.Decides(), IsEmpty());
  EXPECT_FALSE(put.another_may_begin());
  put.Away().Back();
  EXPECT_THAT(put.Decides(), ElementsAre("withdraw 7")) << "lost, perhaps";
  put.Refused(ErrorCode::kAlreadyExists);  // so did this
  EXPECT_FALSE(put.another_may_begin());
  put.Refused(ErrorCode::kCancelled);
  EXPECT_TRUE(put.another_may_begin());
  put.Away().Back();
  EXPECT_THAT(put.Decides(), IsEmpty());
}

// --- it is ended by others

TEST(PublicationState, ARefusalIsWhatTheClientIsAnswered) {
  for (const ErrorCode code :
       {ErrorCode::kAlreadyExists, ErrorCode::kDeleted, ErrorCode::kUnavailable}) {
    Putting put = Putting::Large();
    put.Begins().Writes(100).Decides();
    put.Refused(code, "this is why");
    EXPECT_THAT(put.Decides(), ElementsAre("drop"));
    EXPECT_EQ(put.put().Advance(100, 200, 0).error().message, "this is why") << "told early";
    PublicationState::Effects none;
    EXPECT_EQ(put.put().Seal(kBytes, true, none).error().code, code);
    EXPECT_EQ(put.put().Seal(kBytes, true, none).error().message, "this is why") << "each time";
    put.Aborts();
    EXPECT_THAT(put.Decides(), IsEmpty()) << "the shard knows";
    EXPECT_TRUE(put.another_may_begin());
  }
}

TEST(PublicationState, ARecallEndsWhatWasAcceptedBefore) {
  Putting put = Putting::Large();
  put.Begins().Accepted().Decides();
  put.Recalled(kThis);
  EXPECT_THAT(put.Decides(), IsEmpty()) << "of older versions";
  put.Recalled(kNewer);
  EXPECT_THAT(put.Decides(), ElementsAre("drop"));
  EXPECT_EQ(put.Answer(), "recalled");
}

TEST(PublicationState, ARecallIsNoAnswerToACreate) {
  Putting put = Putting::Large();
  put.Begins().Decides();
  put.Recalled(kNewer);
  EXPECT_THAT(put.Decides(), IsEmpty());
  put.Accepted();
  EXPECT_THAT(put.Decides(), ElementsAre("show"));
}

// --- what its client may not do

TEST(PublicationState, AnAdvanceIsCheckedBeforeAnythingIsTaken) {
  Putting writing = Putting::Large();
  PublicationState& put = writing.put();
  const std::uint64_t block = Layout::For(kBytes).block_bytes;
  struct Case {
    std::uint64_t written, prefix, checksums;
    std::string error;  // empty: none
  };
  const std::vector<Case> cases{
      {0, 0, 0, ""},
      {0, kBytes, 0, ""},
      {0, kBytes + 1, 0, "advance to 1048577 of 1048576 bytes after 0 were announced"},
      {100, 99, 0, "advance to 99 of 1048576 bytes after 100 were announced"},
      {0, 2 * block, 2, ""},
      {0, 2 * block + 5, 2, ""},
      {5, block - 1, 1, "advance by 0 blocks with 1 checksums"},
      {block - 1, block, 1, ""},
      {0, 2 * block, 3, "advance by 2 blocks with 3 checksums"},
  };
  for (const Case& one : cases) {
    const Result<void> taken = put.Advance(one.written, one.prefix, one.checksums);
    EXPECT_EQ(taken ? "" : taken.error().message, one.error);
    if (!taken) EXPECT_EQ(taken.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(PublicationState, ASealNeedsAllBytesAndComesOnce) {
  Putting put = Putting::Large();
  PublicationState::Effects none;
  EXPECT_EQ(put.put().Seal(100, true, none).error().message, "sealed after 100 of 1048576 bytes");
  put.Writes().Seals();
  EXPECT_EQ(put.put().Seal(kBytes, true, none).error().message, "the draft is sealed already");
  EXPECT_EQ(put.put().Advance(kBytes, kBytes, 0).error().message, "the draft is sealed already");
}

TEST(PublicationState, TheShortLastBlockIsWholeAtTheEnd) {
  const Layout layout = Layout::For(100'000);
  EXPECT_EQ(WholeBlocks(layout, 99'999), layout.block_count() - 1);
  EXPECT_EQ(WholeBlocks(layout, 100'000), layout.block_count());
}

}  // namespace
}  // namespace hoplite::planner
