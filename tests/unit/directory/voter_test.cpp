#include "directory/promises/voter.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace hoplite::directory {
namespace {

using std::chrono::milliseconds;

constexpr Duration kTenure = std::chrono::seconds(2);
constexpr MemberPlace kA = 0;
constexpr MemberPlace kB = 1;

Time AtMs(int ms) { return Time(milliseconds(ms)); }

// One question, or a life that is freed, at a time; what the voter does.
struct Row {
  const char* what;
  int ms;
  enum { kClaim, kHold, kFree } kind;
  std::uint64_t life;
  MemberPlace member;
  bool promised = false;
};
PromiseAsk AskOf(const Row& row) {
  return {.wants = {.life = row.life, .member = row.member},
          .round = 1,
          .holds = row.kind == Row::kHold};
}

void Play(Voter voter, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (row.kind == Row::kFree) {
      voter.Free(row.life, AtMs(row.ms));
    } else {
      EXPECT_EQ(voter.Hear(AskOf(row), AtMs(row.ms)).promised, row.promised) << row.what;
    }
  }
}

Voter Fresh() { return {kTenure, VoterStart::kNewCluster, AtMs(0)}; }
Voter Started() { return {kTenure, VoterStart::kMute, AtMs(0)}; }

TEST(VoterTest, PromisesOneLifeForATenureAndTwoPerCent) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"another, meanwhile", 1, Row::kClaim, 20, kB, false},
                 {"the holder", 10, Row::kHold, 10, kA, true},
                 {"just before", 2049, Row::kClaim, 30, kB, false},
                 {"then", 2050, Row::kClaim, 40, kB, true},
                 {"the holder before", 2060, Row::kHold, 10, kA, false}});
}

TEST(VoterTest, RenewsAPromiseThatHasEndedIfNobodyElseHasOne) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"the holder, late", 5000, Row::kHold, 10, kA, true},
                 {"another", 5001, Row::kClaim, 20, kB, false}});
}

TEST(VoterTest, IsMuteAfterItsStart) {
  Play(Started(), {{"the holder that it promised before", 2039, Row::kHold, 10, kA, false},
                   {"then", 2040, Row::kHold, 10, kA, true}});
  Play(Started(), {{"a claim", 2039, Row::kClaim, 10, kA, false},
                   {"a life that it heard of when it was mute", 2040, Row::kClaim, 10, kA, false},
                   {"above", 2040, Row::kClaim, 11, kA, true}});
}

TEST(VoterTest, AClaimIsAboveAllLivesThatItHeardOf) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"the same again", 1, Row::kClaim, 10, kA, false},
                 {"a refused one", 2, Row::kClaim, 50, kB, false},
                 {"below the refused one", 3000, Row::kClaim, 20, kB, false},
                 {"above", 3000, Row::kClaim, 51, kB, true}});
}

// A member whose clock went back may take the number of its own life before.
TEST(VoterTest, ALifeThatHeldIsNotClaimedAgain) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"it holds", 1, Row::kHold, 10, kA, true},
                 {"a second life of the number", 5000, Row::kClaim, 10, kA, false},
                 {"another member of the number", 5000, Row::kHold, 10, kB, false}});
}

TEST(VoterTest, AFreedClaimGivesTheLifeBeforeItsPlace) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"it holds", 1, Row::kHold, 10, kA, true},
                 {"a claim in vain", 3000, Row::kClaim, 20, kB, true},
                 {"the holder", 3001, Row::kHold, 10, kA, false},
                 {"it gives up", 3002, Row::kFree, 20, kB},
                 {"the holder", 3003, Row::kHold, 10, kA, true},
                 {"the claim, late", 9000, Row::kClaim, 20, kB, false}});
}

// It may have held, by promises of the others.
TEST(VoterTest, AClaimThatNobodyFreesKeepsLowerLivesOut) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"it holds", 1, Row::kHold, 10, kA, true},
                 {"a claim", 3000, Row::kClaim, 20, kB, true},
                 {"the holder, after a tenure", 9000, Row::kHold, 10, kA, false},
                 {"the claimant, which held", 9001, Row::kHold, 20, kB, true}});
}

TEST(VoterTest, AHolderThatResignsFreesItAtOnce) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"it holds", 1, Row::kHold, 10, kA, true},
                 {"it resigns", 2, Row::kFree, 10, kA},
                 {"a question of it, late", 3, Row::kHold, 10, kA, false},
                 {"a claim", 4, Row::kClaim, 20, kB, true}});
}

TEST(VoterTest, FreesOnlyTheLifeThatIsNamed) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 10, kA, true},
                 {"another's", 1, Row::kFree, 9, kB},
                 {"none", 1, Row::kFree, 0, kB},
                 {"a claim", 2, Row::kClaim, 20, kB, false}});
}

TEST(VoterTest, TheLifeNoneIsNeverPromised) {
  Play(Fresh(), {{"a claim", 0, Row::kClaim, 0, kA, false}});
}

TEST(VoterTest, TellsAClaimantWhatTheHolderNamed) {
  Voter voter = Fresh();
  voter.Hear({.wants = {10, kA}, .round = 1}, AtMs(0));
  const ShardNames names{.shard_id = 7, .nodes = {NodeId{1}, NodeId{2}}, .complete = true};
  const PromiseAnswer held =
      voter.Hear({.wants = {10, kA}, .round = 2, .holds = true, .names = names}, AtMs(1));
  EXPECT_EQ(held.names, ShardNames{});  // the holder knows them
  EXPECT_EQ(held.holder, (ShardLife{10, kA}));
  const PromiseAnswer claimed = voter.Hear({.wants = {20, kB}, .round = 1}, AtMs(3000));
  EXPECT_EQ(claimed.names, names);
  EXPECT_EQ(claimed.holder, (ShardLife{10, kA}));
  EXPECT_EQ(claimed.highest, 20U);
  // Until a holder names others they stay: a claimant may give up or die.
  EXPECT_EQ(voter.Hear({.wants = {30, kA}, .round = 1}, AtMs(6000)).names, names);
}

TEST(VoterTest, AStartedVoterNamesNobody) {
  Voter voter = Started();
  EXPECT_FALSE(voter.Hear({.wants = {10, kA}, .round = 1}, AtMs(3000)).names.complete);
}

}  // namespace
}  // namespace hoplite::directory
