// What a node decides about the ids that its clients own: rules R50-R57. Told in the order in which
// it happens, answered in words.
#include "planner/node/ownership_state.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr OwnershipState::Client kAnn = 1;
constexpr OwnershipState::Client kBob = 2;

// A node's clients, and the shard as the node hears it. A call of Own has the client's number as its
// ticket.
class Owning : public ::testing::Test {
 public:
  Owning() { state_.SessionOpened({seconds(1), seconds(30), seconds(60)}); }

  Owning& Own(OwnershipState::Client client, Grace grace = {}) {
    state_.Own(client, it_, client, grace, now_, vouched_, effects_);
    return *this;
  }
  Owning& Disown(OwnershipState::Client client) {
    EXPECT_TRUE(state_.Disown(client, it_, now_, effects_));
    return *this;
  }
  Owning& Dies(OwnershipState::Client client) {
    state_.Died(client, now_);
    return *this;
  }
  Owning& Closes(OwnershipState::Client client) {
    state_.Closed(client, now_, effects_);
    return *this;
  }
  Owning& Hear(std::uint64_t number, OwnerResult result = OwnerResult::kOk) {
    state_.Hear({it_, number, result}, now_, effects_);
    return *this;
  }
  Owning& Accepted(std::uint64_t number) {
    state_.Accepted(it_, number, now_, effects_);
    return *this;
  }
  Owning& Refused(std::uint64_t number) {
    state_.Refused(it_, number, now_, effects_);
    return *this;
  }
  Owning& Break() {
    state_.SessionEnded();
    vouched_.reset();
    return *this;
  }
  Owning& Back() {
    state_.SessionOpened({seconds(1), seconds(30), seconds(60)});
    vouched_ = now_;
    return *this;
  }
  Owning& After(Duration passed) {
    now_ += passed;
    if (vouched_) vouched_ = now_;
    state_.Wake(now_, effects_);
    return *this;
  }
  // What an inventory says of it: "own 3", "owned 3", or nothing.
  std::string Inventory() const {
    const auto owned = state_.Inventory(it_, now_);
    if (!owned) return "";
    return fmt::format("{} {}", owned->own ? "own" : "owned", owned->number) +
           GraceText(owned->grace);
  }
  static std::string GraceText(const Grace& grace) {
    return grace ? fmt::format(" for {} s", *grace / seconds(1)) : "";
  }
  // Since the last call, in order: "own 1", "disown 2" to the shard; "1: ok" to client 1.
  std::vector<std::string> Said() {
    std::vector<std::string> said;
    const char* results[] = {"", "ok", "deleted", "limit"};
    const OwnershipState::Effects effects = std::exchange(effects_, {});
    for (const NodeEvent& event : effects.say) {
      const auto& owner = std::get<Owner>(event);
      said.push_back(fmt::format("{} {}", owner.own ? "own" : "disown", owner.number) +
                     GraceText(owner.grace));
    }
    for (const auto& answer : effects.answer) {
      said.push_back(
          fmt::format("{}: {}", answer.ticket, results[static_cast<int>(answer.result)]));
    }
    return said;
  }

  const ObjectId it_ = ObjectId::FromName("it");
  OwnershipState state_;
  Time now_ = Time(std::chrono::hours(1));
  std::optional<Time> vouched_ = now_;
  OwnershipState::Effects effects_;
};

TEST_F(Owning, TheFirstOwnerAsksAndTheLastOneDisowns) {
  Own(kAnn);
  EXPECT_THAT(Said(), ElementsAre("own 1"));
  EXPECT_FALSE(state_.Owns(kAnn, it_));
  Hear(1);
  EXPECT_THAT(Said(), ElementsAre("1: ok"));
  EXPECT_TRUE(state_.Owns(kAnn, it_));
  Own(kBob);
  EXPECT_THAT(Said(), ElementsAre("2: ok"));
  Disown(kAnn);
  EXPECT_THAT(Said(), IsEmpty());
  Disown(kBob);
  EXPECT_THAT(Said(), ElementsAre("disown 2"));
  EXPECT_EQ(state_.owned_ids(), 0U);
  EXPECT_EQ(state_.number(), 2U);
}

TEST_F(Owning, WhoDoesNotOwnCannotDisown) {
  EXPECT_FALSE(state_.Disown(kAnn, it_, now_, effects_));
  Own(kAnn);
  Said();
  EXPECT_FALSE(state_.Disown(kBob, it_, now_, effects_));
  EXPECT_THAT(Said(), IsEmpty());
}

// An answer to an older change says nothing of what the node wants now.
TEST_F(Owning, OnlyTheNewestChangesAnswerCounts) {
  Own(kAnn).Disown(kAnn).Own(kBob);
  EXPECT_THAT(Said(), ElementsAre("own 1", "disown 2", "own 3", "1: ok"));
  Hear(1).Hear(2);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_FALSE(state_.Owns(kBob, it_));
  Hear(3, OwnerResult::kDeleted);
  EXPECT_THAT(Said(), ElementsAre("2: deleted"));
}

TEST_F(Owning, ASecondOwnerWaitsForTheAnswerToTheFirst) {
  Own(kAnn).Own(kBob);
  EXPECT_THAT(Said(), ElementsAre("own 1"));
  Hear(1);
  EXPECT_THAT(Said(), ElementsAre("1: ok", "2: ok"));
}

TEST_F(Owning, WithoutASessionNobodyIsAnsweredByTheNode) {
  Own(kAnn).Hear(1).Break();
  Said();
  Own(kBob);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_EQ(Inventory(), "own 1");
  Back();
  EXPECT_FALSE(state_.Owns(kBob, it_));
  Hear(1);
  EXPECT_THAT(Said(), ElementsAre("2: ok"));
}

TEST_F(Owning, AShardThatWasNotHeardForALeaseIsAsked) {
  Own(kAnn).Hear(1);
  Said();
  now_ += milliseconds(999);
  Own(kBob);
  EXPECT_THAT(Said(), ElementsAre("2: ok"));
  now_ += milliseconds(1);
  state_.Own(3, it_, 3, {}, now_, vouched_, effects_);
  EXPECT_THAT(Said(), ElementsAre("own 2"));
  Hear(2);
  EXPECT_THAT(Said(), ElementsAre("3: ok"));
}

TEST_F(Owning, TheInventoryHasEveryBitAnsweredOrNot) {
  Own(kAnn).Break().Back();
  EXPECT_EQ(Inventory(), "own 1");
  EXPECT_THAT(state_.After(std::nullopt, 9), ElementsAre(it_));
  EXPECT_THAT(state_.After(it_, 9), IsEmpty());
}

TEST_F(Owning, ThatItOwnedAnIdIsRepeatedForAsLongAsATombstone) {
  Own(kAnn).Hear(1).Disown(kAnn).Hear(2).Break().Back();
  EXPECT_EQ(Inventory(), "owned 2");
  EXPECT_EQ(state_.next(), now_ + seconds(60));
  After(seconds(59));
  EXPECT_EQ(Inventory(), "owned 2");
  After(seconds(1));
  EXPECT_EQ(Inventory(), "");
  EXPECT_EQ(state_.next(), kNever);
  EXPECT_THAT(state_.After(std::nullopt, 9), IsEmpty());
}

TEST_F(Owning, ADeadClientOwnsForTheOrphanGrace) {
  Own(kAnn).Hear(1).Dies(kAnn).After(seconds(29));
  EXPECT_THAT(Said(), ElementsAre("own 1", "1: ok"));
  EXPECT_EQ(Inventory(), "own 1");
  After(seconds(1));
  EXPECT_THAT(Said(), ElementsAre("disown 2"));
}

TEST_F(Owning, ADeadClientsUnansweredOwnIsKeptTooAndNotAnswered) {
  Own(kAnn).Dies(kAnn).Hear(1).After(seconds(29));
  EXPECT_THAT(Said(), ElementsAre("own 1"));
  After(seconds(1));
  EXPECT_THAT(Said(), ElementsAre("disown 2"));
}

TEST_F(Owning, ACleanCloseOwnsNothing) {
  Own(kAnn).Own(kBob).Hear(1);
  Said();
  Closes(kAnn);
  EXPECT_THAT(Said(), IsEmpty());
  Closes(kBob);
  EXPECT_THAT(Said(), ElementsAre("disown 2"));
}

TEST_F(Owning, WhoGivesUpOwnsWhatHeDidBefore) {
  Own(kAnn);
  state_.GiveUp(kAnn, it_, kAnn, now_, effects_);
  EXPECT_THAT(Said(), ElementsAre("own 1", "disown 2"));
  Own(kBob).Hear(3);
  Said();
  Break();
  state_.Own(kBob, it_, 7, {}, now_, vouched_, effects_);
  state_.GiveUp(kBob, it_, 7, now_, effects_);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_TRUE(state_.Owns(kBob, it_));
}

TEST_F(Owning, BeyondTheLimitNobodyOwnsIt) {
  Own(kAnn).Hear(1, OwnerResult::kLimit);
  EXPECT_THAT(Said(), ElementsAre("own 1", "1: limit"));
  EXPECT_FALSE(state_.Owns(kAnn, it_));
  EXPECT_EQ(Inventory(), "");
}

TEST_F(Owning, ADeleteEndsWhatWasAnswered) {
  Own(kAnn).Hear(1);
  Said();
  state_.Deleted(it_, effects_);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_FALSE(state_.Owns(kAnn, it_));
  EXPECT_EQ(Inventory(), "");
}

// The word of a mark that has ended may be under way when the shard accepts the next Own.
TEST_F(Owning, ADeleteSaysNothingOfAnUnansweredChange) {
  Own(kAnn).Hear(1).Break().Own(kBob).Back();
  Said();
  state_.Deleted(it_, effects_);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_EQ(Inventory(), "own 1");
  Hear(1);
  EXPECT_THAT(Said(), ElementsAre("2: ok"));
  EXPECT_TRUE(state_.Owns(kAnn, it_));
}

TEST_F(Owning, AnOwnedPutOwnsWhenItIsAccepted) {
  EXPECT_EQ(state_.Asks(kAnn, it_, {}), 1U);
  EXPECT_EQ(Inventory(), "");  // a request is no bit
  Accepted(1);
  EXPECT_TRUE(state_.Owns(kAnn, it_));
  EXPECT_EQ(Inventory(), "own 1");
  Own(kBob);
  EXPECT_THAT(Said(), ElementsAre("2: ok"));
  Disown(kAnn).Disown(kBob);
  EXPECT_THAT(Said(), ElementsAre("disown 2"));
}

TEST_F(Owning, ARefusedPutOwnsNothing) {
  state_.Asks(kAnn, it_, {});
  Refused(1);
  EXPECT_FALSE(state_.Owns(kAnn, it_));
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_THAT(state_.After(std::nullopt, 9), IsEmpty());
}

// The shard may have accepted the Put: to it, the Disown would be that of both.
TEST_F(Owning, AnotherClientsDisownWaitsForThePutsAnswer) {
  Own(kBob).Hear(1);
  state_.Asks(kAnn, it_, {});
  Disown(kBob);
  EXPECT_THAT(Said(), ElementsAre("own 1", "2: ok"));
  EXPECT_EQ(Inventory(), "own 1");
  Accepted(2);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_TRUE(state_.Owns(kAnn, it_));
  Disown(kAnn);
  EXPECT_THAT(Said(), ElementsAre("disown 3"));
}

TEST_F(Owning, ADisownThatWaitedIsSaidWhenThePutIsRefused) {
  Own(kBob).Hear(1);
  state_.Asks(kAnn, it_, {});
  Disown(kBob);
  Said();
  Refused(2);
  EXPECT_THAT(Said(), ElementsAre("disown 3"));
}

TEST_F(Owning, APutThatOutlivesItsClientOwnsForAsLongAsTheClientWould) {
  state_.Asks(kAnn, it_, {});
  Dies(kAnn).After(seconds(10)).Accepted(1).After(seconds(19));
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_EQ(Inventory(), "own 1");
  After(seconds(1));
  EXPECT_THAT(Said(), ElementsAre("disown 2"));

  state_.Asks(kBob, it_, {});
  Closes(kBob).Accepted(3);
  EXPECT_THAT(Said(), ElementsAre("disown 4"));
}

// --- a grace of one's own

TEST_F(Owning, AnOwnershipEndsWithItsOwnGrace) {
  Own(kAnn, seconds(0)).Hear(1);
  EXPECT_THAT(Said(), ElementsAre("own 1 for 0 s", "1: ok"));
  EXPECT_EQ(Inventory(), "own 1 for 0 s");
  Dies(kAnn).After(seconds(0));
  EXPECT_THAT(Said(), ElementsAre("disown 2"));

  Own(kBob, seconds(50)).Hear(3).Dies(kBob).After(seconds(49));
  EXPECT_THAT(Said(), ElementsAre("own 3 for 50 s", "2: ok"));
  After(seconds(1));
  EXPECT_THAT(Said(), ElementsAre("disown 4"));
}

TEST_F(Owning, ANodeTellsTheLongestGraceOfItsClients) {
  Own(kAnn, seconds(40)).Hear(1);
  Said();
  Own(kBob);
  EXPECT_THAT(Said(), ElementsAre("2: ok")) << "the shard waits for longer anyhow";
  Disown(kAnn);
  EXPECT_THAT(Said(), ElementsAre("own 2"));
  Hear(2).Own(kAnn, seconds(50));
  EXPECT_THAT(Said(), ElementsAre("own 3 for 50 s")) << "not answered before the shard knows";
  Hear(3);
  EXPECT_THAT(Said(), ElementsAre("1: ok"));
  Own(kAnn, seconds(10));
  EXPECT_THAT(Said(), ElementsAre("own 4")) << "the last one counts";
}

TEST_F(Owning, EachClientOfANodeHasItsOwnGrace) {
  Own(kAnn, seconds(10)).Own(kBob, seconds(20)).Hear(2);
  EXPECT_THAT(Said(), ElementsAre("own 1 for 10 s", "own 2 for 20 s", "1: ok", "2: ok"));
  Dies(kAnn).Dies(kBob).After(seconds(10));
  EXPECT_FALSE(state_.Owns(kAnn, it_));
  EXPECT_TRUE(state_.Owns(kBob, it_));
  EXPECT_THAT(Said(), IsEmpty());
  After(seconds(10));
  EXPECT_THAT(Said(), ElementsAre("disown 3"));
  EXPECT_EQ(state_.next(), now_ + seconds(60)) << "nothing is left but its note";
}

TEST_F(Owning, APutBringsItsGrace) {
  EXPECT_EQ(state_.Asks(kAnn, it_, seconds(0)), 1U);
  Accepted(1);
  EXPECT_THAT(Said(), IsEmpty()) << "the request told it";
  EXPECT_EQ(Inventory(), "own 1 for 0 s");
  EXPECT_EQ(state_.Asks(kBob, it_, seconds(50)), 2U);
  Accepted(2);
  EXPECT_EQ(Inventory(), "own 1 for 50 s");
  Dies(kAnn).After(seconds(0));
  EXPECT_THAT(Said(), IsEmpty());
}

TEST_F(Owning, NoGraceIsLongerThanAMark) {
  EXPECT_EQ(state_.longest_grace(), seconds(60));
  Own(kAnn, std::chrono::hours(1)).Hear(1).Dies(kAnn).After(seconds(60));
  EXPECT_THAT(Said(), ElementsAre("own 1 for 3600 s", "disown 2", "1: ok"));
}

}  // namespace
}  // namespace hoplite::planner
