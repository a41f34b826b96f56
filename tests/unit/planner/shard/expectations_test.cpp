// What a shard answers those who rely on an owner of what is not there: rule R59.
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class Expectations : public Scenario {
 public:
  void TearDown() override {
    for (const char* node : {"A", "B", "S"}) Lose(node);
    Pass(minutes(3));
    Ignore();
    Scenario::TearDown();
  }
};

TEST_F(Expectations, OfAnIdThatNobodyKnowsAreAnsweredAtOnce) {
  Join("A");
  Locate("A", 7);
  Expect("A: unowned 7");
  Locate("A");
  Expect();
}

TEST_F(Expectations, WaitForTheOwnersObject) {
  Join("A").Join("B").Join("S");
  Own("B").Ignore();
  Locate("A", 1).Pass(minutes(5));
  Expect();
  Put("S");
  ExpectAmong("A: located v1");
}

TEST_F(Expectations, WhoWaitsIsToldWhenTheLastOwnerGoes) {
  Join("A").Join("B");
  Own("B").Ignore();
  Locate("A", 1).Disown("B");
  Expect("B: owner 2 ok", "A: deleted");
}

TEST_F(Expectations, AreAnsweredAfterTheMarkToo) {
  Join("A").Join("B").Join("S").Put("S");
  Own("B").Disown("B").Ignore();
  Locate("A", 1);
  Expect("A: deleted");
  Pass(seconds(61));
  Locate("A", 2);
  Expect("A: unowned 2");
}

TEST_F(Expectations, WhoReliesOnNobodyWaitsOn) {
  Join("A").Join("B").Join("S");
  Locate("A").Locate("B", 1);
  Expect("B: unowned 1");
  Put("S").Ignore();
  EXPECT_TRUE(state_->Find(object_).has_value());
}

TEST_F(Expectations, OfAnObjectWithoutOwnerAreMet) {
  Join("A").Join("S").Put("S").Ignore();
  Locate("A", 1);
  Expect("A: located v1");
}

TEST_F(Expectations, OfWhatIsBeingPutAreMetButNotWhenThatIsLost) {
  Join("A").Join("S").Create("S").Ignore();
  Locate("A", 1);
  Expect("A: located v1");
  Lose("S");
  Locate("A", 2);
  ExpectAmong("A: unowned 2");
}

TEST_F(Expectations, OfTheTargetOfAReductionWaitForItsEnd) {
  Join("A").Join("S").Say("S", ReduceOpen{object_, 1}).Ignore();
  Locate("A", 1);
  Expect();
  Say("S", ReduceClose{object_, 1, ErrorCode::kCancelled, "given up"});
  ExpectAmong("A: unowned 1");
}

TEST_F(Expectations, OfSubscribersAreAnsweredAlike) {
  Join("A").Join("B");
  Subscribe("A", 3);
  Expect("A: unowned 3");
  Own("B").Ignore();
  Subscribe("A", 4);
  Expect();
  Disown("B");
  Expect("B: owner 2 ok", "A: deleted");
}

TEST_F(Expectations, TheNewestNumberIsAnswered) {
  Restart(Recovering()).Join("A");
  Locate("A", 1).Subscribe("A", 2).Locate("A", 3).Ignore();
  Pass(seconds(40));
  Expect("A: unowned 3");
}

TEST_F(Expectations, ThatAreTakenBackAreNotAnswered) {
  Restart(Recovering()).Join("A");
  Locate("A", 1).Say("A", CancelLocate{object_});
  Subscribe("A", 1).Say("A", Unsubscribe{object_});
  Pass(seconds(40));
  Expect();
}

TEST_F(Expectations, AfterARestartOwnersHaveTimeToComeBack) {
  Restart(Recovering()).Join("A").Locate("A", 1).Pass(milliseconds(31'900));
  Expect();
  Pass(milliseconds(200));
  Expect("A: unowned 1");
}

TEST_F(Expectations, AfterARestartTheOwnerIsFoundAgain) {
  Restart(Recovering()).Join("A").Locate("A", 1).Pass(seconds(31));
  Connect("B").Owned("B").EndInventory("B");
  Expect("B: owner 1 ok");
  Pass(minutes(5));
  Expect();
  Disown("B");
  Expect("B: owner 2 ok", "A: deleted");
}

TEST_F(Expectations, WaitForAnInventoryThatIsBeingTold) {
  Join("A").Join("B");
  Suspend("B").Connect("B");
  Locate("A", 1).Pass(milliseconds(900));
  Expect();
  Owned("B").EndInventory("B").Pass(minutes(1));
  Expect("B: owner 1 ok");
}

TEST_F(Expectations, OfANodeThatIsGoneAreForgotten) {
  Join("A").Join("B");
  Own("B").Locate("A", 1).Suspend("A").Ignore();
  Disown("B").Pass(minutes(2)).Ignore();
  Connect("A").EndInventory("A").Pass(minutes(1));
  Expect();
}

}  // namespace
}  // namespace hoplite::planner
