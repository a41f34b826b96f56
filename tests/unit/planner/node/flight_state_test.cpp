// What a node decides about an object on its way to it: rules R4, R5, R8, R9, R15, R21, R38, R46, R63,
// R64, R83.
#include "planner/node/flight_state.h"

#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const Version kFirst{{1, 1}};
const Version kSecond{{1, 2}};

std::string NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kDeclined:
      return "declined";
    case Outcome::kAbandoned:
      return "abandoned";
  }
  return "";
}

std::string InWords(const NodeEvent& event) {
  if (const auto* locate = std::get_if<Locate>(&event)) {
    return locate->room == 0 ? "locate" : fmt::format("locate {} with room", locate->number);
  }
  if (std::holds_alternative<CancelLocate>(event)) return "cancel locate";
  if (std::holds_alternative<CancelWant>(event)) return "cancel want";
  if (std::holds_alternative<CopyComplete>(event)) return "complete";
  if (std::holds_alternative<CopyGone>(event)) return "gone";
  if (const auto* want = std::get_if<Want>(&event)) {
    return fmt::format("want from {}{}{}", want->marks[0], want->leaf ? " as a leaf" : "",
                       want->joint ? " beside others" : "");
  }
  if (const auto* closed = std::get_if<GrantClosed>(&event)) {
    return fmt::format("{} {}", NameOf(closed->outcome), closed->grant.sequence);
  }
  return "another word";
}

class Flights : public ::testing::Test {
 protected:
  // What it decided since the last look.
  std::vector<std::string> Decides() {
    state_.Step(marks_, decided_);
    std::vector<std::string> words;
    for (const NodeEvent& event : decided_.say) words.push_back(InWords(event));
    for (const Grant& grant : decided_.open) {
      words.push_back(fmt::format("open {}", grant.grant.sequence));
    }
    for (const GrantId& grant : decided_.stop) {
      words.push_back(fmt::format("stop {}", grant.sequence));
    }
    if (decided_.whole) words.emplace_back("whole");
    decided_ = {};
    return words;
  }
  static GrantId Id(std::uint64_t number) { return GrantId{{1, number}}; }
  Located LocatedAs(const Version& version, std::uint64_t wanted = 0) const {
    return {object_, version, layout_, "", false, wanted};
  }
  Grant GrantOf(std::uint64_t number, StripeMask stripes = 1) const {
    return {.object = object_,
            .version = kFirst,
            .grant = Id(number),
            .source = {NodeId{number}, "source", ""},
            .stripes = stripes};
  }
  // Located, with memory, and its Want is said.
  void Wants(bool leaf = false) {
    state_.Locate(decided_, kQuestion);
    state_.On(LocatedAs(kFirst), decided_);
    state_.Receive(marks_, leaf, now_, decided_);
    Decides();
  }
  void Pulls(std::uint64_t number, StripeMask stripes = 1) {
    state_.On(GrantOf(number, stripes), marks_, decided_);
    Decides();
  }

  static constexpr Question kQuestion{.number = 3};
  const ObjectId object_ = ObjectId::FromName("x");
  const Layout layout_ = Layout::For(1 << 20, 1);
  StripeMarks marks_ = layout_.empty_marks();
  Time now_ = Time(1h);
  FlightState state_{object_};
  FlightState::Effects decided_;
};

TEST_F(Flights, MemoryComesBeforeWant) {
  state_.Locate(decided_, kQuestion);
  EXPECT_THAT(Decides(), ElementsAre("locate"));
  EXPECT_TRUE(state_.On(LocatedAs(kFirst), decided_));
  EXPECT_FALSE(state_.wants());
  EXPECT_THAT(Decides(), IsEmpty());
  state_.Receive(marks_, false, now_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("want from 0"));
}

TEST_F(Flights, WhoFetchesOthersSaysSoAtOnceAndWithWhatItAsks) {
  Wants();
  EXPECT_FALSE(state_.OpenWant(marks_)->joint);
  for (int i = 0; i < 2; ++i) state_.Join(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("want from 0 beside others"));
  EXPECT_TRUE(state_.OpenWant(marks_)->joint);
  state_.Locate(decided_, kQuestion);
  EXPECT_TRUE(state_.OpenLocate(0)->joint) << "a question may be the Want (R63)";
}

TEST_F(Flights, AGrantThatCameTooEarlyOrOfAnotherVersionIsClosedAtOnce) {
  state_.On(GrantOf(1), marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1"));
  Wants();
  Grant grant = GrantOf(2);
  grant.version = kSecond;
  state_.On(grant, marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 2"));
}

TEST_F(Flights, TheOldUpstreamIsClosedBeforeTheNextIsOpened) {
  Wants();
  Pulls(1);
  state_.On(GrantOf(2), marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("stop 1"));
  EXPECT_THAT(Decides(), IsEmpty()) << "it is told once";
  marks_[0] = 3;
  state_.Ended(Id(1), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1", "open 2"));
}

TEST_F(Flights, OtherStripesAreOpenedBeside) {
  Wants();
  Pulls(1, 0b01);
  state_.On(GrantOf(2, 0b10), marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("open 2"));
}

// 2 waits for the end of 1, and 3 moves a stripe of 2 away: it would be lost if 3 began now.
TEST_F(Flights, AGrantWaitsBehindAnEarlierOneForItsStripesThatWaits) {
  Wants();
  Pulls(1, 0b01);
  state_.On(GrantOf(2, 0b11), marks_, decided_);
  state_.On(GrantOf(3, 0b10), marks_, decided_);
  state_.On(GrantOf(4, 0b01), marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("stop 1"));
  state_.Ended(Id(1), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1", "open 2", "stop 2"));
  state_.Ended(Id(2), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 2", "open 3", "open 4"));
}

TEST_F(Flights, AFailedStreamIsClosedOnceAndTheNextGoesOnFromTheMark) {
  Wants();
  Pulls(1);
  marks_[0] = 5;
  state_.Ended(Id(1), Outcome::kFailed, Failure::kBroken);
  EXPECT_THAT(Decides(), ElementsAre("failed 1"));
  EXPECT_THAT(Decides(), IsEmpty());
  EXPECT_EQ(state_.OpenWant(marks_)->marks, marks_);
}

TEST_F(Flights, EveryByteIsNotEnoughWithoutEnd) {
  Wants();
  Pulls(1);
  marks_ = layout_.full_marks();
  EXPECT_THAT(Decides(), IsEmpty());
  state_.Ended(Id(1), Outcome::kDone, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("done 1", "whole"));
}

TEST_F(Flights, EndIsNotEnoughWithoutEveryByte) {
  Wants();
  Pulls(1, 0b01);
  state_.Ended(Id(1), Outcome::kDone, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("done 1"));
}

TEST_F(Flights, TheOtherConnectionOfASourceThatSaidEndIsWaitedFor) {
  Wants();
  Pulls(1);
  marks_ = layout_.full_marks();
  state_.EndedInPart(Id(1), true);
  EXPECT_THAT(Decides(), IsEmpty());
  state_.Ended(Id(1), Outcome::kDone, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("done 1", "whole"));
}

TEST_F(Flights, AnotherStreamThatIsStillOpenIsLeftWhenOneEndSaidThatTheBytesAreFinal) {
  Wants();
  Pulls(1, 0b01);
  Pulls(2, 0b10);
  marks_ = layout_.full_marks();
  state_.Ended(Id(1), Outcome::kDone, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("done 1", "whole"));
  state_.Complete(decided_);
  state_.Leave(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("complete", "stop 2"));
  EXPECT_FALSE(state_.left());
  state_.Ended(Id(2), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 2")) << "and the copy stays";
  EXPECT_TRUE(state_.left());
}

TEST_F(Flights, WhoeverIsWantedNoMoreClosesItsStreamsBeforeItsCopyGoes) {
  Wants();
  Pulls(1);
  state_.Leave(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel want", "stop 1"));
  state_.On(GrantOf(2), marks_, decided_);
  EXPECT_THAT(Decides(), IsEmpty());
  state_.Ended(Id(1), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1", "abandoned 2", "gone"));
}

TEST_F(Flights, WhoeverWasNotAnsweredTakesItsQuestionBack) {
  state_.Locate(decided_, kQuestion);
  Decides();
  state_.Leave(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel locate"));
  EXPECT_TRUE(state_.left());
}

TEST_F(Flights, ALateFailureEndsOnlyTheQuestionOrVersionThatItIsAbout) {
  const auto ends = [&](const Version& version, std::uint64_t question) {
    return state_.Ends({object_, version, ErrorCode::kCancelled, "", question});
  };
  state_.Locate(decided_, kQuestion);
  EXPECT_TRUE(ends({}, kQuestion.number) && !ends(kSecond, kQuestion.number - 1));
  state_.On(LocatedAs(kSecond), decided_);
  EXPECT_TRUE(ends(kSecond, 0) && !ends(kFirst, kQuestion.number));
}

TEST_F(Flights, ANewerVersionIsAskedForFromTheStart) {
  Wants();
  Pulls(1);
  EXPECT_FALSE(state_.OnRecall(kFirst)) << "it is not older than that";
  EXPECT_TRUE(state_.OnRecall(kSecond));
  state_.Leave(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("stop 1"));
  state_.Ended(Id(1), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1")) << "the shard knows the rest";
  state_.Locate(decided_, kQuestion);
  EXPECT_FALSE(state_.recalled());
  EXPECT_THAT(Decides(), ElementsAre("locate"));
}

// A root of a reduction that makes a part of its target.
TEST_F(Flights, WhatIsMadeHereInPartIsWantedAtOnceAndItsCommitIsAnEnd) {
  state_.Adopt(LocatedAs(kFirst), 0b10);
  EXPECT_FALSE(state_.wants()) << "it has said nothing yet";
  state_.Receive(marks_, false, now_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("want from 0"));
  EXPECT_EQ(state_.OpenWant(marks_)->version, kFirst);
  Pulls(1, 0b01);
  marks_ = layout_.full_marks();
  EXPECT_THAT(Decides(), IsEmpty());
  state_.OnCommitted();
  EXPECT_THAT(Decides(), ElementsAre("whole"));
}

TEST_F(Flights, TheCommitIsNotEnoughWithoutEveryByte) {
  state_.Adopt(LocatedAs(kFirst), 0b10);
  state_.Receive(marks_, false, now_, decided_);
  state_.OnCommitted();
  EXPECT_THAT(Decides(), ElementsAre("want from 0"));
  marks_ = layout_.full_marks();
  EXPECT_THAT(Decides(), ElementsAre("whole"));
}

// What the source makes itself has come to its END, the rest waits for others around the ring.
TEST_F(Flights, TheCommitWaitsForNoEnd) {
  state_.Adopt(LocatedAs(kFirst), 0b10);
  state_.Receive(marks_, false, now_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("want from 0"));
  Pulls(1, 0b01);
  marks_ = layout_.full_marks();
  state_.EndedInPart(Id(1), true);
  EXPECT_THAT(Decides(), IsEmpty());
  state_.OnCommitted();
  EXPECT_THAT(Decides(), ElementsAre("whole"));
}

TEST_F(Flights, WhatIsMadeHereIsNeverFetched) {
  state_.Adopt(LocatedAs(kFirst), 0b10);
  state_.Receive(marks_, false, now_, decided_);
  state_.On(GrantOf(1, 0b11), marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("want from 0", "abandoned 1"));
}

TEST_F(Flights, ADeletedObjectIsNotToldOfTwice) {
  Wants();
  state_.OnDeleted();
  state_.Leave(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel want"));
}

TEST_F(Flights, AShardThatHadLostTheNodeIsAskedAnewWhenTheStreamsHaveEnded) {
  Wants();
  Pulls(1);
  state_.OnLost(decided_);
  EXPECT_THAT(Decides(), ElementsAre("stop 1"));
  state_.Ended(Id(1), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1", "want from 0"));
}

TEST_F(Flights, TheInventoryRepeatsAWantThatNoStreamServes) {
  Wants();
  EXPECT_TRUE(state_.OpenWant(marks_));
  Pulls(1);
  EXPECT_FALSE(state_.OpenWant(marks_)) << "it is told of beside the copy";
  EXPECT_THAT(state_.TellUpstreams(), ElementsAre(protocol::Upstream{NodeId{1}, Id(1), 1}));
}

// The node was away for so long that its copies do not count any more (R17). If the shard heard how
// far this one was it would never send those bytes again.
TEST_F(Flights, TheInventoryDoesNotRepeatTheWantOfACopyThatGoes) {
  Wants();
  state_.OnRecall(kSecond);
  EXPECT_FALSE(state_.OpenWant(marks_));
}

// R15. While a stream ends, what is told for its stripes is not pulled yet.
TEST_F(Flights, TheInventoryNamesTheStreamOfEachStripe) {
  EXPECT_TRUE(state_.TellUpstreams().empty());
  Wants();
  Pulls(1, 0b0011);
  Pulls(2, 0b1000);
  Pulls(3, 0b0110);
  EXPECT_THAT(state_.TellUpstreams(), ElementsAre(protocol::Upstream{NodeId{1}, Id(1), 0b0011},
                                                  protocol::Upstream{NodeId{2}, Id(2), 0b1000},
                                                  protocol::Upstream{NodeId{3}, Id(3), 0b0100}));
}

TEST_F(Flights, OfTheGrantsThatWaitTheInventoryNamesTheNewest) {
  Wants();
  Pulls(1, 0b01);
  Pulls(2, 0b11);
  Pulls(3, 0b10);
  EXPECT_THAT(state_.TellUpstreams(), ElementsAre(protocol::Upstream{NodeId{1}, Id(1), 0b01},
                                                  protocol::Upstream{NodeId{3}, Id(3), 0b10}));
  EXPECT_THAT(Decides(), ElementsAre("open 3"));
}

// The shard takes back what was not named; and the end of a stream that is left makes it forget the
// stripes.
TEST_F(Flights, WhatWasToFollowAStreamIsWantedAgainAfterAnInventory) {
  Wants();
  Pulls(1, 0b01);
  Pulls(2, 0b01);
  EXPECT_THAT(state_.TellUpstreams(), ElementsAre(protocol::Upstream{NodeId{1}, Id(1), 0b01}));
  EXPECT_THAT(Decides(), IsEmpty());
  state_.Ended(Id(1), Outcome::kAbandoned, Failure::kNone);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1", "want from 0"));
}

TEST_F(Flights, ALeafRepeatsItAlwaysAndNeverSaysThatItIsComplete) {
  Wants(true);
  Pulls(1);
  EXPECT_TRUE(state_.OpenWant(marks_)->leaf);
  marks_ = layout_.full_marks();
  state_.Ended(Id(1), Outcome::kDone, Failure::kNone);
  Decides();
  state_.Complete(decided_);
  state_.Leave(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel want"));
}

TEST_F(Flights, AReaderThatTakesNothingOfWhatLiesReadyStalls) {
  Wants(true);
  EXPECT_FALSE(state_.ReaderStalls(0, 0, 1s, now_ + 5s)) << "nothing lay ready";
  EXPECT_FALSE(state_.ReaderStalls(100, 0, 1s, now_ + 6s));
  EXPECT_FALSE(state_.ReaderStalls(100, 10, 1s, now_ + 7s)) << "it took some";
  EXPECT_TRUE(state_.ReaderStalls(100, 10, 1s, now_ + 9s));
}

TEST_F(Flights, WhoeverGetsNothingForAWhileLendsItsPlace) {
  Wants();
  EXPECT_FALSE(state_.LendsTurn(0, now_ + 400ms));
  EXPECT_FALSE(state_.LendsTurn(10, now_ + 450ms));
  EXPECT_FALSE(state_.LendsTurn(10, now_ + 900ms));
  EXPECT_TRUE(state_.LendsTurn(10, now_ + 950ms));
}

TEST_F(Flights, WhoeverOthersDependOnWaitsForNoPlace) {
  EXPECT_FALSE(state_.GoesAtOnce(false, false));
  EXPECT_TRUE(state_.GoesAtOnce(true, false));
  EXPECT_TRUE(state_.GoesAtOnce(false, true));
}

// It asks with room for all of it.
class FlightsWithRoom : public Flights {
 protected:
  FlightsWithRoom() {
    state_.Locate(decided_, {.number = 7, .room = layout_.size_bytes});
    EXPECT_THAT(Decides(), ElementsAre("locate 7 with room"));
  }
};

TEST_F(Flights, AQuestionThatWasSaidAgainIsTakenBackWithTheAnswer) {
  state_.Locate(decided_, kQuestion, 1);
  state_.Expect(decided_, 2);
  EXPECT_THAT(Decides(), ElementsAre("locate", "locate"));
  state_.On(LocatedAs(kFirst), decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel locate"));
  state_.Expect(decided_, 3);
  EXPECT_THAT(Decides(), IsEmpty()) << "there is nothing to ask any more";
}

TEST_F(FlightsWithRoom, TheQuestionWasTheWant) {
  EXPECT_TRUE(state_.On(LocatedAs(kFirst, 7), decided_));
  EXPECT_TRUE(state_.wants());
  state_.Receive(marks_, false, now_, decided_);
  state_.On(GrantOf(1), marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("open 1")) << "no Want is said";
}

TEST_F(FlightsWithRoom, TheInventoryRepeatsTheQuestionAndThenTheWant) {
  EXPECT_EQ(state_.OpenLocate(3)->room, layout_.size_bytes);
  EXPECT_EQ(state_.OpenLocate(3)->number, 7u);
  EXPECT_EQ(state_.OpenLocate(3)->expects, 3u);
  state_.On(LocatedAs(kFirst, 7), decided_);
  state_.Receive(marks_, false, now_, decided_);
  EXPECT_FALSE(state_.OpenLocate(3));
  EXPECT_TRUE(state_.OpenWant(marks_));
}

TEST_F(FlightsWithRoom, WhereItDidNotCountTheWantIsSaid) {
  EXPECT_TRUE(state_.On(LocatedAs(kFirst), decided_));
  EXPECT_FALSE(state_.wants());
  state_.Receive(marks_, false, now_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("want from 0"));
}

TEST_F(FlightsWithRoom, WithoutMemoryAfterAllItDeclinesAndWantsLater) {
  state_.On(LocatedAs(kFirst, 7), decided_);
  state_.Decline(decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel want"));
  state_.On(GrantOf(1), marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("abandoned 1"));
  state_.Receive(marks_, false, now_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("want from 0"));
}

// The shard may have counted it before it heard of the loss, and sent grants that are on their way: if
// there is memory now, a Want that took their place would not be told from them.
TEST_F(FlightsWithRoom, WhoLosesItsRoomSaysSoAndWantsIfThereIsMemoryAfterAll) {
  state_.LoseRoom(decided_, 0);
  EXPECT_THAT(Decides(), ElementsAre("locate"));
  EXPECT_TRUE(state_.On(LocatedAs(kFirst, 7), decided_));
  EXPECT_TRUE(state_.wants());
  EXPECT_THAT(Decides(), ElementsAre("cancel locate")) << "which it may have parked";
  state_.Receive(marks_, false, now_, decided_);
  state_.LoseRoom(decided_, 0);
  EXPECT_THAT(Decides(), IsEmpty()) << "the question is answered";
}

// What was said since that question may have ended its Want: the answer says where the object is, and
// no more.
TEST_F(FlightsWithRoom, AnAnswerToAnOlderQuestionIsNotItsWant) {
  EXPECT_TRUE(state_.On(LocatedAs(kFirst, 6), decided_));
  EXPECT_FALSE(state_.wants());
  state_.Receive(marks_, false, now_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel want", "want from 0"));
}

TEST_F(FlightsWithRoom, AnAnswerThatComesLaterIsTakenBackUnlessTheSameWasSaid) {
  state_.On(LocatedAs(kFirst, 6), decided_);
  state_.On(LocatedAs(kFirst, 7), decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel want", "cancel want")) << "it has no memory yet";
  state_.Receive(marks_, false, now_, decided_);
  Decides();
  EXPECT_FALSE(state_.On(LocatedAs(kFirst, 7), decided_));
  EXPECT_THAT(Decides(), IsEmpty());
  EXPECT_FALSE(state_.On(LocatedAs(kSecond, 7), decided_));
  EXPECT_THAT(Decides(), ElementsAre("cancel want")) << "of the other version";
}

TEST_F(FlightsWithRoom, AnAnswerToAQuestionThatWasTakenBackIsTakenBackToo) {
  state_.Leave(marks_, decided_);
  EXPECT_THAT(Decides(), ElementsAre("cancel locate"));
  EXPECT_FALSE(state_.On(LocatedAs(kFirst, 7), decided_));
  EXPECT_THAT(Decides(), ElementsAre("cancel want"));
}

}  // namespace
}  // namespace hoplite::planner
