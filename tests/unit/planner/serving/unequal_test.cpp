// Where links or sites differ, receivers go where they get most.
#include <cstdint>
#include <string>

#include "base/units.h"
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kWide = 25'000'000;  // bytes per second
constexpr std::uint64_t kSlow = 6'250'000;

class Unequal : public Scenario {
 protected:
  Unequal() { layout_ = Layout::For(16_MiB, 1); }

  std::uint32_t Blocks(std::uint64_t bytes) const {
    return static_cast<std::uint32_t>(bytes / layout_.block_bytes);
  }
  // What the node says of the object, in blocks, which is all that comes to it.
  void Has(const std::string& node, std::uint32_t blocks) {
    Say(node,
        protocol::Progress{
            .object = object_, .version = VersionAt(node), .marks = Marks(blocks), .at = now_});
  }
  // R1, whose link is slow, is fed by S, and has so many blocks.
  void SlowOneFirst(std::uint32_t blocks) {
    JoinAt("S", "", kWide).JoinAt("R1", "", kSlow).JoinAt("R2", "", kWide);
    Put("S").Get("R1");
    After(milliseconds(100));
    Has("R1", blocks);
    After(milliseconds(1));
    Ignore();
  }
};

TEST_F(Unequal, AFastNewcomerGetsTheSourceAndTheSlowOneGoesBehindIt) {
  SlowOneFirst(0);
  Get("R2");
  ExpectAmong("R2 <- S");
  After(milliseconds(100));
  Has("R2", 1);
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 2U);
  ExpectNotAmong("R1 <- S moved");
}

// Two that could take more than it sends are alike to the source.
TEST_F(Unequal, WhereTheSourceIsTheSlowestNobodyIsSlowerThanAnother) {
  JoinAt("S", "", kSlow).JoinAt("R1", "", 2 * kSlow).JoinAt("R2", "", kWide);
  Put("S").Get("R1");
  After(milliseconds(100));
  Has("R1", Blocks(1_MiB));
  After(milliseconds(1));
  Ignore();
  Get("R2");
  ExpectAmong("R2 <- R1");
}

TEST_F(Unequal, TheSlowOneIsMovedWhenTheFasterOneIsSoonAhead) {
  SlowOneFirst(Blocks(4_MiB));
  Get("R2");
  ExpectNotAmong("R1 <- R2 moved");  // it would wait for 160 ms
  After(milliseconds(100));
  Has("R2", Blocks(3_MiB));
  ExpectAmong("R1 <- R2 moved");
  EXPECT_EQ(why_, MoveReason::kFaster);
}

TEST_F(Unequal, AReceiverKeepsItsSourceForAWhile) {
  SlowOneFirst(0);
  Get("R2");
  Ignore();
  After(milliseconds(59));
  Has("R2", 5);
  Has("R1", 1);
  ExpectNotAmong("R1 <- S moved");
}

// Refused, it goes to who is ahead, and is not made to wait behind the same one at once.
TEST_F(Unequal, WhoWaitedInVainDoesNotWaitAgainSoon) {
  SlowOneFirst(0);
  Get("R2");
  ExpectAmong("R1 <- R2 moved");
  Fail("R1", 5, Failure::kNotAhead);
  ExpectAmong("R1 <- S");
  After(milliseconds(200));
  Has("R2", 4);
  ExpectNotAmong("R1 <- R2 moved");
  After(seconds(1));
  Has("R2", 6);
  ExpectAmong("R1 <- R2 moved");
}

// It may still pull from its old source, which must not come to pull from it meanwhile.
TEST_F(Unequal, WhoWasMovedCountsAsFedByBothUntilItHeard) {
  const auto heard = [this](GrantId grant) {
    Say("R1", GrantClosed{object_, VersionAt("R1"), grant, Outcome::kAbandoned});
  };
  SlowOneFirst(0);
  const GrantId first = NewestGrant("R1");
  Get("R2");
  ExpectAmong("R1 <- R2 moved");
  const GrantId behind = NewestGrant("R1");
  heard(first);
  After(milliseconds(100));
  Fail("R2", 0);
  ExpectAmong("R1 <- S moved");
  Has("R1", 3);
  ExpectNotAmong("R2 <- R1");
  heard(behind);
  ExpectAmong("R2 <- R1");
}

TEST_F(Unequal, OfOneClassTheyStandInALine) {
  for (const char* node : {"S", "R1", "R2", "R3"}) JoinAt(node, "", kWide);
  JoinAt("Far", "", kSlow);
  Put("S").Get("R1").Get("R2").Get("R3");
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 3U);
  ExpectNotAmong("R3 <- S");
}

TEST_F(Unequal, OneStreamEntersASite) {
  JoinAt("S", "west", 0);
  for (const char* node : {"E1", "E2", "E3"}) JoinAt(node, "east", 0);
  Put("S").Get("E1").Ignore();
  Get("E2");
  ExpectAmong("E2 <- E1");
  Get("E3");
  ExpectAmong("E3 <- E2");
  Lose("E1");
  ExpectAmong("E2 <- S moved");
}

// Also if it is the only one there that has it.
TEST_F(Unequal, WhoCannotReachItsOwnSiteCrosses) {
  JoinAt("S", "west", 0);
  for (const char* node : {"E1", "E2"}) JoinAt(node, "east", 0);
  Put("S").Get("E1").Ignore();
  Get("E2");
  ExpectAmong("E2 <- E1");
  Fail("E2", 0, Failure::kUnreachable);
  ExpectAmong("E2 <- S");
}

// Who gets its bytes through others that went out of the site and in again feeds nobody there for it.
TEST_F(Unequal, NobodyIsFedWithinItsSiteByItsOwnBytes) {
  JoinAt("S", "west", 0).JoinAt("E1", "east", 0).JoinAt("W", "west", 0);
  JoinAt("E2", "east", 0).JoinAt("E3", "east", 0);
  Put("S").Get("E1").Get("W").Fail("W", 0, Failure::kUnreachable);
  ExpectAmong("W <- E1");
  Get("E2").Fail("E2", 0, Failure::kUnreachable);
  ExpectAmong("E2 <- W");
  // This one has nothing, and comes to nobody.
  Get("E3");
  for (int source = 0; source < 4; ++source) Fail("E3", 0, Failure::kUnreachable);
  Ignore();
  After(milliseconds(100));
  Has("E1", 0);
  ExpectNotAmong("E1 <- E3 moved");
}

TEST_F(Unequal, AFasterOneCrossesInTheSlowOnesPlace) {
  JoinAt("S", "west", kWide).JoinAt("E1", "east", kSlow).JoinAt("E2", "east", kWide);
  Put("S").Get("E1");
  After(milliseconds(100));
  Ignore();
  Get("E2");
  ExpectAmong("E2 <- S");
  After(milliseconds(100));
  Has("E2", 3);
  ExpectNotAmong("E2 <- E1 moved");
}

// A node may say what it wants of its link.
TEST_F(Unequal, WhatANodeSaysOfItsLinkIsBounded) {
  JoinAt("S", "", ~0ULL).JoinAt("R1", "", 1).JoinAt("R2", "", 0);
  EXPECT_EQ(state_->BrokenInvariant(), "");
  Put("S").Get("R1").Get("R2");
  After(milliseconds(100));
  Has("R1", 1);
  Has("R2", 100);
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 2U);
  EXPECT_EQ(state_->BrokenInvariant(), "");
}

// Its object takes no link long: it is planned by the cost model, whatever links are like.
TEST_F(Unequal, WhereNothingIsToBeSavedNobodyMoves) {
  layout_ = Layout::For(64_KiB, 1);
  SlowOneFirst(0);
  Get("R2");
  ExpectNotAmong("R1 <- R2 moved");
}

// A link that becomes slow: what comes while the source has more is believed.
TEST_F(Unequal, WhoseLinkFellIsLeftByThoseBehindIt) {
  for (const char* node : {"S", "R1", "R2"}) JoinAt(node, "", kWide);
  Put("S").Get("R1").Get("R2");
  ExpectAmong("R2 <- R1");
  for (std::uint32_t look = 1; look <= 8; ++look) {
    After(milliseconds(110));
    Has("R1", look);
    Has("R2", look);
  }
  ExpectAmong("R2 <- S moved");
}

}  // namespace
}  // namespace hoplite::planner
