#include "directory/promises/tenure.h"

#include <chrono>
#include <map>

#include <gtest/gtest.h>

#include "directory/promises/voter.h"

namespace hoplite::directory {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kClock = 1000;

Time At(int ms) { return Time(milliseconds(ms)); }

// The second of three members.
class TenureTest : public testing::Test {
 protected:
  PromiseAnswer Yes(const Tenure::Say& say, const ShardNames& names = {}) const {
    return {.life = say.ask->wants.life,
            .round = say.ask->round,
            .promised = true,
            .highest = say.ask->wants.life,
            .names = names};
  }
  PromiseAnswer No(const Tenure::Say& say, std::uint64_t highest) const {
    return {.life = say.ask->wants.life, .round = say.ask->round, .highest = highest};
  }
  Tenure::Say Claim(int ms) { return tenure_.Turn(At(ms), Time{}, kClock); }
  // It holds, by a round that began then.
  Tenure::Say Hold(int ms, const ShardNames& names = {}) {
    const Tenure::Say claim = Claim(ms);
    tenure_.Hear(0, Yes(claim, names), At(ms));
    tenure_.Hear(1, Yes(claim, names), At(ms));
    EXPECT_TRUE(tenure_.holds());
    return claim;
  }
  void KeepRound(int ms) {
    const Tenure::Say round = tenure_.Turn(At(ms), kNever, kClock);
    ASSERT_TRUE(round.ask);
    for (const MemberPlace voter : {0, 1}) tenure_.Hear(voter, Yes(round), At(ms));
    ASSERT_EQ(tenure_.kept(), round.ask->round);
  }

  Tenure tenure_{{.members = 3, .place = 1}};
};

TEST_F(TenureTest, ClaimsInItsTurnWhenItsOwnVoterIsFree) {
  EXPECT_EQ(tenure_.next(At(5000)), At(5100));
  EXPECT_FALSE(tenure_.Turn(At(5099), At(5000), kClock).ask);
  const auto say = tenure_.Turn(At(5100), At(5000), kClock);
  ASSERT_TRUE(say.ask);
  EXPECT_FALSE(say.ask->holds);
  EXPECT_TRUE(tenure_.claims());
}

TEST_F(TenureTest, HoldsByMoreThanHalf) {
  const Tenure::Say claim = Claim(1000);
  tenure_.Hear(1, Yes(claim), At(1001));
  EXPECT_FALSE(tenure_.holds());
  tenure_.Hear(1, Yes(claim), At(1002));  // the same voter again
  EXPECT_FALSE(tenure_.holds());
  tenure_.Hear(2, Yes(claim), At(1003));
  EXPECT_TRUE(tenure_.holds());
  EXPECT_EQ(tenure_.life(), claim.ask->wants.life);
}

TEST_F(TenureTest, AClaimThatMostRefuseIsGivenUpAndFreed) {
  const Tenure::Say claim = Claim(1000);
  EXPECT_EQ(tenure_.Hear(0, No(claim, 5000), At(1001)).free, 0U);
  EXPECT_EQ(tenure_.Hear(2, No(claim, 6000), At(1001)).free, claim.ask->wants.life);
  EXPECT_FALSE(tenure_.claims());
  EXPECT_EQ(tenure_.next(Time{}), At(1501));
  EXPECT_GT(tenure_.Turn(At(1501), Time{}, kClock).ask->wants.life, 6000U);
}

TEST_F(TenureTest, AClaimThatNobodyAnswersIsGivenUp) {
  const Tenure::Say claim = Claim(1000);
  EXPECT_EQ(tenure_.next(Time{}), At(1100));
  EXPECT_EQ(tenure_.Turn(At(1100), Time{}, kClock).free, claim.ask->wants.life);
  Claim(1600);
  EXPECT_EQ(tenure_.next(Time{}), At(1800));  // answers may need longer
}

TEST_F(TenureTest, MembersNeverTakeOneLife) {
  std::map<std::uint64_t, MemberPlace> lives;
  for (const MemberPlace place : {0, 1, 2}) {
    for (std::uint64_t clock = 1000; clock < 1010; ++clock) {
      Tenure tenure({.members = 3, .place = place});
      const std::uint64_t life = tenure.Turn(At(1000), Time{}, clock).ask->wants.life;
      EXPECT_GE(life, clock);
      EXPECT_EQ(lives.emplace(life, place).first->second, place);
    }
  }
}

TEST_F(TenureTest, CountsAnswersOfThisRoundAndLifeOnly) {
  const Tenure::Say claim = Hold(1000);
  const Tenure::Say round = tenure_.Turn(At(1000), kNever, kClock);
  ASSERT_TRUE(round.ask && round.ask->holds);
  EXPECT_GT(round.ask->round, claim.ask->round);
  tenure_.Hear(0, Yes(round), At(1001));
  tenure_.Hear(2, Yes(claim), At(1001));  // of the round before
  PromiseAnswer other = Yes(round);
  other.life += 3;
  tenure_.Hear(1, other, At(1001));
  tenure_.Hear(3, Yes(round), At(1001));  // nobody's
  EXPECT_LT(tenure_.kept(), tenure_.begun());
  tenure_.Hear(2, Yes(round), At(1002));
  EXPECT_EQ(tenure_.kept(), tenure_.begun());
}

TEST_F(TenureTest, AsksAgainAfterAPauseOrWhenSomebodyWaits) {
  Hold(1000);
  KeepRound(1000);
  EXPECT_EQ(tenure_.next(kNever), At(1200));
  tenure_.Hurry();
  EXPECT_LE(tenure_.next(kNever), At(1000));
  KeepRound(1050);
  EXPECT_EQ(tenure_.next(kNever), At(1250));
}

TEST_F(TenureTest, ARoundThatIsNotKeptMakesPlaceForAnother) {
  Hold(1000);
  const Tenure::Say round = tenure_.Turn(At(1000), kNever, kClock);
  EXPECT_EQ(tenure_.next(kNever), At(1500));
  EXPECT_GT(tenure_.Turn(At(1500), kNever, kClock).ask->round, round.ask->round);
}

TEST_F(TenureTest, StandsByAfterATenureWithoutAMajority) {
  Hold(1000);
  for (int ms = 1000; ms < 3040; ms += 500) tenure_.Turn(At(ms), kNever, kClock);
  EXPECT_TRUE(tenure_.holds());
  tenure_.Turn(At(3500), kNever, kClock);
  EXPECT_FALSE(tenure_.holds());
}

TEST_F(TenureTest, StandsByWhereAHigherLifeHeld) {
  const Tenure::Say claim = Hold(1000);
  PromiseAnswer late = No(claim, 7000);
  tenure_.Hear(2, late, At(1100));  // a claim in vain
  EXPECT_TRUE(tenure_.holds());
  late.holder = {.life = 7000, .member = 2};
  tenure_.Hear(2, late, At(1101));
  EXPECT_FALSE(tenure_.holds());
}

TEST_F(TenureTest, NamesWhomItGreetedFromTheNextRoundOn) {
  Hold(1000);
  KeepRound(1000);
  Tenure::Say say;
  EXPECT_TRUE(tenure_.Greet(NodeId{4}, 0, At(1010), say));
  const Tenure::Say round = tenure_.Turn(At(1010), kNever, kClock);
  ASSERT_TRUE(round.ask);
  EXPECT_EQ(round.ask->names.nodes, (std::set<NodeId>{NodeId{4}}));
  tenure_.Lose(NodeId{4});
  EXPECT_TRUE(tenure_.Turn(At(2000), kNever, kClock).ask->names.nodes.empty());
}

TEST_F(TenureTest, WaitsForThoseThatWereNamed) {
  Hold(1000, {.shard_id = 9, .nodes = {NodeId{1}, NodeId{2}}, .complete = true});
  EXPECT_EQ(tenure_.shard_id(), 9U);
  EXPECT_TRUE(tenure_.collecting());
  EXPECT_EQ(tenure_.Turn(At(1000), kNever, kClock).ask->names.nodes.size(), 2U);
  tenure_.Told(NodeId{1});
  EXPECT_TRUE(tenure_.collecting());
  tenure_.Lose(NodeId{2});
  EXPECT_FALSE(tenure_.collecting());
}

TEST_F(TenureTest, NeedsCompleteNamesOfMoreThanHalf) {
  const Tenure::Say claim = Claim(1000);
  tenure_.Hear(0, Yes(claim, {.complete = true}), At(1000));
  tenure_.Hear(1, Yes(claim), At(1000));
  ASSERT_TRUE(tenure_.holds());
  EXPECT_FALSE(tenure_.complete());
  EXPECT_TRUE(tenure_.collecting());
  EXPECT_FALSE(tenure_.Turn(At(1000), kNever, kClock).ask->names.complete);
  tenure_.EndWindow();
  EXPECT_FALSE(tenure_.collecting());
}

TEST_F(TenureTest, AHigherLifeThatANodeKnowsIsPassed) {
  struct Row {
    const char* what;
    std::int64_t above;  // its own life
    bool greeted_before;
    bool stays;
  };
  for (const Row& row :
       {Row{"a lower one", -1, false, true}, Row{"its own, of a member", 0, true, true},
        Row{"its own, of a stranger", 0, false, false}, Row{"a higher one", 5, false, false}}) {
    tenure_ = Tenure({.members = 3, .place = 1});
    Hold(1000);
    const std::uint64_t life = tenure_.life();
    const std::uint64_t named = life + static_cast<std::uint64_t>(row.above);
    Tenure::Say say;
    if (row.greeted_before) EXPECT_TRUE(tenure_.Greet(NodeId{1}, 0, At(1001), say));
    EXPECT_EQ(tenure_.Greet(NodeId{1}, named, At(1001), say), row.stays) << row.what;
    EXPECT_EQ(tenure_.holds(), row.stays) << row.what;
    EXPECT_EQ(say.free, row.stays ? 0 : life) << row.what;
    if (!row.stays) EXPECT_GT(Claim(1500).ask->wants.life, named) << row.what;
  }
}

// Somebody may still believe it: voters keep their promise.
TEST_F(TenureTest, AHolderThatGreetedSomebodyFreesNoVoter) {
  Hold(1000);
  Tenure::Say say;
  EXPECT_TRUE(tenure_.Greet(NodeId{1}, 0, At(1001), say));
  EXPECT_FALSE(tenure_.Greet(NodeId{2}, tenure_.life() + 1, At(1002), say));
  EXPECT_EQ(say.free, 0U);
}

}  // namespace
}  // namespace hoplite::directory
