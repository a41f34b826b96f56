// Bytes that lie in the directory leave it as fast as its link carries them: what many wait for
// leaves once, with the list of those to whom it goes on (R83), and nobody waits for that for good (R83).
#include <cmath>

#include "base/units.h"
#include "planner/copies/broadcast_cost.h"
#include "planner/node/flight_state.h"
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kSize = 16_KiB;
constexpr Duration kPatience = milliseconds(23);  // with four of them, a little longer than needed

class Gives : public Scenario {
 protected:
  Gives() {
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
  void TheyWantMany() { joint_ = true; }
  Self Cancel(const std::string& node) { return Say(node, CancelLocate{object_}); }
  // Four ask, and hear of it once it is put.
  Self FourWait() {
    for (const char* reader : {"R1", "R2", "R3", "R4"}) Locate(reader);
    return *this;
  }
  // Two have it from the shard, whose link is full then.
  void FillLink() { Locate("R1").Locate("R2").Ignore(); }
};

TEST_F(Gives, GoToAllWhileTheLinkCarriesThem) {
  Locate("R1").Locate("R2").PutInline("S", kSize);
  Expect("S: accepted v1", "R1: inline v1", "R2: inline v1");
}

TEST_F(Gives, GoToTheFirstWithTheListOfTheOthersWhereTheyWouldFillTheLink) {
  FourWait().PutInline("S", kSize);
  Expect("S: accepted v1", "R1: inline v1 for R2 R3 R4");
  EXPECT_EQ(state_->Find(object_)->holders.size(), 1U) << "who has them is no holder";
}

TEST_F(Gives, GoInRingOrderFromTheProducer) {
  Locate("S").Locate("R1").Locate("R3").Locate("R5").PutInline("R2", kSize);
  Expect("R2: accepted v1", "R3: inline v1 for R5 S R1");
}

TEST_F(Gives, EnterEachSiteOnce) {
  for (const char* node : {"E1", "E2", "E3"}) JoinAt(node, "east", 0).Locate(node);
  FourWait().PutInline("S", kSize);
  Expect("S: accepted v1", "R1: inline v1 for R2 R3 R4", "E1: inline v1 for E2 E3");
}

TEST_F(Gives, OfAHolderStayInItsSite) {
  TheyWantMany();
  for (const char* node : {"E1", "E2", "E3"}) JoinAt(node, "east", 0).Locate(node);
  FourWait().PutInline("S", kSize);
  Expect("S: accepted v1", "S: gives v1 for R1 R2 R3 R4", "E1: inline v1 for E2 E3");
}

TEST_F(Gives, GoToAllOverALinkThatCarriesThemInTwoMilliseconds) {
  Slow(4 * kSize / 0.002);
  FourWait().PutInline("S", kSize);
  Expect("S: accepted v1", "R1: inline v1", "R2: inline v1", "R3: inline v1", "R4: inline v1");
}

TEST_F(Gives, WaitForNoLinkThatNobodyMeasured) {
  Slow(1e9, true);
  PutIt();
  FillLink();
  Locate("R3");
  Expect("R3: inline v1");
}

TEST_F(Gives, GatherThoseWhoAskWhileTheLinkIsFull) {
  PutIt();
  FillLink();
  Locate("R3").After(milliseconds(1)).Locate("R4");
  Expect();
  Pass(milliseconds(1));
  Expect("R3: inline v1 for R4");
}

TEST_F(Gives, OfSeveralObjectsStandBeforeOneLink) {
  PutIt();
  FillLink();
  object_ = ObjectId::FromName("another");
  PutIt();
  Locate("R3");
  Expect("R3: inline v2");  // the first reader waits for nobody
  Locate("R4");
  Expect();
  Pass(milliseconds(4));
  Expect("R4: inline v2");
}

// Whatever is believed of the link.
TEST_F(Gives, GatherForAWhileOnly) {
  PutIt();
  for (int i = 0; i < 20; ++i) {
    object_ = ObjectId::FromName(std::to_string(i));
    PutIt();
    Locate("R1").Ignore();
  }
  Locate("R2").Pass(kPatience - milliseconds(4));
  Expect();
  Pass(milliseconds(4));
  Expect("R2: inline v21");
}

TEST_F(Gives, EndWithTheWordOfWhomTheyReached) {
  FourWait();
  PutIt();
  for (const char* reader : {"R2", "R3", "R4"}) Cancel(reader);
  Pass(2 * kPatience);
  Expect();
}

TEST_F(Gives, ThatDoNotComeAreMadeUpForByTheShard) {
  FourWait();
  PutIt();
  Cancel("R3").Pass(kPatience - milliseconds(2));
  Expect();
  Pass(milliseconds(2));
  Expect("R2: inline v1", "R4: inline v1");
  Pass(2 * kPatience);
  Expect();
}

TEST_F(Gives, ToWhoeverAsksAgainAreNotWaitedFor) {
  FourWait();
  PutIt();
  Cancel("R3").Pass(milliseconds(4)).Locate("R3");
  Expect("R3: inline v1");
}

TEST_F(Gives, OfWhatIsDeletedAreAnsweredByThat) {
  FourWait();
  PutIt();
  Delete("S");
  Expect("S: deleted", "R2: deleted", "R3: deleted", "R4: deleted");
  Pass(2 * kPatience);
  Expect();
}

TEST_F(Gives, OfAVersionThatIsTakenBackAreNotWaitedFor) {
  const auto bytes = std::make_shared<const std::string>(kSize, 'x');
  FourWait().Say("S", protocol::Create{object_, layout_, "", bytes, 7});
  Expect("S: accepted v1", "R1: inline v1 for R2 R3 R4");
  Say("S", Withdraw{object_, 7}).Pass(milliseconds(4)).Ignore();
  PutInline("S", kSize);
  Expect("S: accepted v2", "R2: inline v2 for R3 R4");
}

TEST_F(Gives, ToANodeThatLeavesAreForgotten) {
  FourWait();
  PutIt();
  Suspend("R3").Pass(kPatience);
  Expect("R2: inline v1", "R4: inline v1");
}

// R83.
TEST_F(Gives, OfOneOfManyObjectsLeaveFromItsHolderWhereTheyWouldFillTheLink) {
  TheyWantMany();
  PutIt();
  FillLink();
  Locate("R3").Locate("R4");
  Expect("S: gives v1 for R3", "S: gives v1 for R4");
  Cancel("R3");
  Cancel("R4").Pass(2 * kPatience);
  Expect();
}

TEST_F(Gives, OfOneOfManyObjectsGoFromItsHolderInOneTree) {
  TheyWantMany();
  FourWait();
  PutInline("S", kSize);
  Expect("S: accepted v1", "S: gives v1 for R1 R2 R3 R4");
}

TEST_F(Gives, OfOneOfManyObjectsLeaveFromTheShardWhereThoseAreSmall) {
  TheyWantMany();
  Locate("R1").Locate("R2").PutInline("S", kSize);
  Expect("S: accepted v1", "R1: inline v1", "R2: inline v1");
}

TEST_F(Gives, OfManyVerySmallObjectsLeaveFromTheShard) {
  TheyWantMany();
  for (int i = 0; i < 40; ++i) {
    object_ = ObjectId::FromName(std::to_string(i));
    PutInline("S", 1'000).Ignore();
    Locate("R1");
    Expect("R1: inline v" + std::to_string(i + 1));
  }
}

// Whatever was measured: the first 32 KiB may have been a burst.
TEST_F(Gives, OfOneOfManyObjectsLeaveFromItsHolderAlsoWhereTheLinkIsFast) {
  Slow(10e9);
  TheyWantMany();
  PutIt();
  FillLink();
  Locate("R3");
  Expect("S: gives v1 for R3");
}

TEST_F(Gives, ThatAHolderOwesAreMadeUpForByTheShard) {
  TheyWantMany();
  PutIt();
  FillLink();
  Locate("R3");
  Expect("S: gives v1 for R3");
  Pass(milliseconds(206));
  Expect();
  Pass(milliseconds(1));
  Expect("R3: inline v1");
}

// Two of eight leave from the shard. The others take the holder's link 10 ms, if they reach it.
TEST_F(Gives, OfAHolderWithMuchToGiveAreWaitedForLonger) {
  TheyWantMany();
  for (int i = 0; i < 8; ++i) {
    object_ = ObjectId::FromName(std::to_string(i));
    PutIt();
    Locate("R1");
    Cancel("R1").Ignore();
  }
  Locate("R3").Ignore();
  Pass(milliseconds(245));
  Expect();
  Pass(milliseconds(2));
  Expect("R3: inline v8");
}

TEST_F(Gives, OfOneOfManyObjectsWithoutAHolderLeaveFromTheShard) {
  TheyWantMany();
  PutIt();
  FillLink();
  Lose("S").Ignore();
  Locate("R3").Pass(milliseconds(2));
  Expect("R3: inline v1");
}

TEST_F(Gives, NameNoMoreNodesThanAMessageHolds) {
  constexpr std::size_t kMany = 2 + InlineObject::kMostOnward;
  DirectoryOptions options = New();
  options.inline_ahead_bytes = 0;
  Restart(options).Join("S");
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::string node = "N" + std::to_string(i);
    Join(node).Locate(node);
  }
  const auto bytes = std::make_shared<const std::string>(100, 'x');
  state_->Apply({now_, NodeSaid{Id("S"), protocol::Create{object_, Layout::For(100), "", bytes}}});
  std::vector<std::size_t> onward;
  std::vector<Action> actions;
  for (const Time now : {now_, now_ + milliseconds(1)}) state_->Plan(now, actions);
  for (const Action& action : actions) {
    const auto* given = std::get_if<InlineObject>(&action.body);
    if (given != nullptr) onward.push_back(given->onward.size());
  }
  EXPECT_THAT(onward, ::testing::ElementsAre(InlineObject::kMostOnward, 0U));
}

// The shard hears that the question is answered.
TEST(GivenFlight, IsAnsweredByTheGiveOfItsQuestion) {
  constexpr Question kQuestion{.number = 3};
  const ObjectId object = ObjectId::FromName("it");
  FlightState flight(object);
  FlightState::Effects decided;
  EXPECT_FALSE(flight.OnHandedOn(kQuestion.number, decided)) << "nothing was asked";
  flight.Locate(decided, kQuestion);
  decided = {};
  EXPECT_FALSE(flight.OnHandedOn(kQuestion.number - 1, decided));
  EXPECT_TRUE(decided.say.empty());
  EXPECT_TRUE(flight.OnHandedOn(kQuestion.number, decided));
  ASSERT_EQ(decided.say.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<CancelLocate>(decided.say[0]));
  EXPECT_FALSE(flight.OnHandedOn(kQuestion.number, decided)) << "it is answered";
  EXPECT_FALSE(flight.On(InlineObject{object, {{1, 1}}, "", nullptr}, decided)) << "by one of them";
  EXPECT_EQ(decided.say.size(), 1U);
}

TEST(PatienceOfGive, IsFourTimesTheTimeOfATreeButNotLong) {
  const LinkModel link{.latency = milliseconds(1), .bytes_per_second = 1e6};
  const auto milliseconds_of = [&](std::uint64_t bytes, std::uint64_t receivers) {
    return std::lround(1e3 * ToSeconds(PatienceOfGive(bytes, receivers, link)));
  };
  EXPECT_EQ(milliseconds_of(1'000, 2), 16);
  EXPECT_EQ(milliseconds_of(9'000, 1), 40);
  EXPECT_EQ(milliseconds_of(9'000, 8), 160);
  EXPECT_EQ(milliseconds_of(9'000'000, 8), 1'000);
}

}  // namespace
}  // namespace hoplite::planner
