// Bytes that lie in the directory leave it as fast as its link carries them; whoever asks when more
// stand before the link is sent to a holder (R67).
#include "base/units.h"
#include "scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kSize = 16_KiB;

class PopularSmallObject : public Scenario {
 protected:
  PopularSmallObject() {
    layout_ = Layout::For(kSize);
    Slow(10'000'000);
  }
  // Links carry so many bytes a second; 32 KiB may stand before the shard's.
  void Slow(double bytes_per_second, bool guessed = false) {
    DirectoryOptions options = New();
    options.link.bytes_per_second = bytes_per_second;
    options.link.guessed = guessed;
    options.inline_ahead_bytes = 2 * kSize;
    Restart(options).Join("S");
    for (const char* reader : {"R1", "R2", "R3", "R4", "R5"}) Join(reader);
    Ignore();
  }
  void PutIt() { PutInline("S", layout_.size_bytes).Ignore(); }
  // S, which never hears that it was accepted; R3 gets it from the shard and is complete.
  void PutUnheard() {
    Say("S", ThePut());
    AllAsk();
    Suspend("S");
    Fail("R3", 0).Ignore();
  }
  NodeEvent ThePut() const {
    return protocol::Create{object_, layout_, "", std::make_shared<const std::string>(kSize, 'x'),
                            7};
  }
  Self AllAsk() {
    return Ask("R1", kSize).Ask("R2", kSize).Ask("R3", kSize).Ask("R4", kSize).Now();
  }
};

TEST_F(PopularSmallObject, GoesToTheFirstWithTheAnswerAndToTheOthersFromNodeToNode) {
  PutIt();
  AllAsk();
  Expect("R1: inline v1", "R2: inline v1", "R3: located v1 and wants it", "R3 <- S",
         "R4: located v1 and wants it", "R4 <- R3");
}

TEST_F(PopularSmallObject, GoesToAllWithTheAnswerOnceTheLinkHasCarriedTheRest) {
  PutIt();
  Ask("R1", kSize).Ask("R2", kSize).Ignore();
  After(milliseconds(4)).Ask("R3", kSize).Ask("R4", kSize);
  Expect("R3: inline v1", "R4: inline v1");
}

TEST_F(PopularSmallObject, GoesToAllWithTheAnswerOverALinkThatCarriesThemInTwoMilliseconds) {
  Slow(4 * kSize / 0.002);
  PutIt();
  AllAsk();
  Expect("R1: inline v1", "R2: inline v1", "R3: inline v1", "R4: inline v1");
}

TEST_F(PopularSmallObject, TakesALinkThatNobodyMeasuredForASlowOne) {
  Slow(1e9, true);
  PutIt();
  AllAsk();
  ExpectAmong("R4: located v1 and wants it");
}

TEST_F(PopularSmallObject, CountsTogetherWithTheOthersButGoesToItsFirstReaderWithTheAnswer) {
  PutIt();
  Ask("R1", kSize).Ask("R2", kSize).Ignore();
  object_ = ObjectId::FromName("another");
  PutIt();
  Ask("R3", kSize).Ask("R4", kSize);
  Expect("R3: inline v2", "R4: located v2 and wants it", "R4 <- S");
}

TEST_F(PopularSmallObject, GoesWithTheAnswerToWhoeverHasNoRoom) {
  PutIt();
  Ask("R1", kSize).Ask("R2", kSize).Ignore();
  Locate("R3").Ask("R4", kSize - 1);
  Expect("R3: inline v1", "R4: inline v1");
}

TEST_F(PopularSmallObject, OfOneKibibyteIsNotWorthAFetch) {
  PutIt();
  AllAsk().Ignore();
  object_ = ObjectId::FromName("tiny");
  layout_ = Layout::For(1_KiB);
  PutIt();
  AllAsk();
  Expect("R1: inline v2", "R2: inline v2", "R3: inline v2", "R4: inline v2");
}

TEST_F(PopularSmallObject, GoesToAllWithTheAnswerIfNobodyElseHasIt) {
  PutIt();
  Gone("S");
  AllAsk();
  Expect("R1: inline v1", "R2: inline v1", "R3: inline v1", "R4: inline v1");
}

TEST_F(PopularSmallObject, IsGivenToWhoeverCantReachTheHolderAndPassedOn) {
  PutIt();
  AllAsk().Ignore();
  Fail("R3", 0, Failure::kUnreachable);
  Expect("R3: inline v1");
  Complete("R3").Ignore();
  Done("R4");
  Expect();
}

TEST_F(PopularSmallObject, GoesWithTheAnswerToWhoeverCouldNotReachTheHolderAMomentAgo) {
  PutIt();
  AllAsk();
  Fail("R3", 0, Failure::kUnreachable).Ignore();
  object_ = ObjectId::FromName("another");
  PutIt();
  Ask("R1", kSize).Ignore();
  Ask("R3", kSize).Ask("R4", kSize);
  Expect("R3: inline v2", "R4: located v2 and wants it", "R4 <- S");
}

TEST_F(PopularSmallObject, IsNotGivenToWhoeverIsOnlyLate) {
  PutIt();
  AllAsk().Ignore();
  Fail("R3", 0, Failure::kNotAhead);
  ExpectNotAmong("R3: inline v1");
}

TEST_F(PopularSmallObject, IsGivenOnceToWhoeverWaitsForAHolderThatWent) {
  PutIt();
  AllAsk().Ignore();
  Suspend("S").Ignore();
  Fail("R3", 0);
  Expect("R3: inline v1");
  Subscribe("R1");  // the shard looks at the object again
  ExpectNotAmong("R3: inline v1");
}

TEST_F(PopularSmallObject, IsGivenAgainToWhoeverMayHaveLostItWithItsSession) {
  PutIt();
  AllAsk().Ignore();
  Suspend("S").Ignore();
  Fail("R3", 0);
  Expect("R3: inline v1");
  Suspend("R3").Connect("R3").HeldBy("R3", 1, "S").EndInventory("R3").Ignore();
  Fail("R3", 1);
  Expect("R3: inline v1");
}

TEST_F(PopularSmallObject, GoesWithTheAnswerIfTheHolderWent) {
  PutIt();
  Ask("R1", kSize).Ask("R2", kSize).Ignore();
  Suspend("S").Ask("R3", kSize);
  Expect("R3: inline v1");
}

TEST_F(PopularSmallObject, GoesWithTheAnswerIfTheHolderIsToDropIt) {
  PutIt();
  Ask("R1", kSize).Ask("R2", kSize).Ask("R3", kSize).Done("R3");
  Gone("S");
  Ask("R4", kSize).Ignore();  // and is fed by R3, which can't drop it yet
  Evict("R3").Ask("R5", kSize);
  ExpectAmong("R5: inline v1");
}

TEST_F(PopularSmallObject, IsStillItsPuttersWhereOthersHaveItBeforeThatOneHears) {
  PutUnheard();
  Complete("R3").Ignore();
  Connect("S").Say("S", ThePut()).EndInventory("S");
  Expect("S: accepted v1");
  Gone("R3");
  ExpectAmong("R4 <- S moved");
}

TEST_F(PopularSmallObject, IsTakenBackFromOthersWhoHaveIt) {
  PutUnheard();
  Complete("R3").Ignore();
  Connect("S").Say("S", Withdraw{object_, 7}).EndInventory("S");
  Expect("R3: recall v2", "R4: recall v2", "S: refused cancelled");
  Ask("R5", kSize);
  Expect();
}

TEST_F(PopularSmallObject, IsTakenBackFromWhoeverIsAboutToHaveIt) {
  PutUnheard();
  Connect("S").Say("S", Withdraw{object_, 7}).EndInventory("S").Locate("R5");
  Expect("R3: recall v2", "R4: recall v2", "S: refused cancelled");
  Complete("R3");  // that crossed the recall
  Say("S", ThePut());
  Expect("S: accepted v3", "R5: inline v3");
}

}  // namespace
}  // namespace hoplite::planner
