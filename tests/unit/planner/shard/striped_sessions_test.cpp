// Striped reductions whose members lose their sessions, or whose shard restarts, and plans that no
// reduction can have (R36, R64). The slots are those of striped_test.cpp.
#include "reduction_scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

// --- sessions

TEST_F(Striped, AMemberThatComesBackIsToldAllItsOrdersAgain) {
  Begin();
  Drained("D", 6, 2).Suspend("D").Ignore();
  Connect("D").EndInventory("D");
  // It has all of slot 2 that its root folds.
  Expect("D: slot 3 v3", "D: 3 pulls 2 from B v2 {1}", "D: slot 6 v4");
  Reads("R");
  ExpectAmong("R <- D {12}");
}

// What it asks for in its inventory ends copies that it did not repeat, but it has not heard of
// this one: else it would be sent its own stripes, too, and refuse all that comes with them.
TEST_F(Striped, ARootThatWasOrderedWhileItsNodeWasAwayIsThereWhenThatAsksForTheTarget) {
  for (const char* node : {"A", "B", "D", "C"}) Join(node);
  Open("C").Shape().Suspend("D");
  Order(Ring({"A", "B", "D"}).All()).Ignore();
  Connect("D").Locate("D").EndInventory("D").Ignore();
  EXPECT_TRUE(HolderAt("D").producing);
  AllAsk().HasAll("A").Ignore();
  Reads("D");
  Expect("D <- A {3}");
}

TEST_F(Striped, AndWhenItPutsTheTarget) {
  for (const char* node : {"A", "B", "D", "C", "R"}) Join(node);
  Open("C").Shape().Suspend("D");
  Order(Ring({"A", "B", "D"}).All()).Ignore();
  Connect("D").Create("D").EndInventory("D");
  ExpectAmong("D: refused already_exists");
  Reads("R");
  ExpectAmong("R <- D {12}");
}

TEST_F(Striped, ACoordinatorThatComesBackHearsWhatItMissedAndRepeatsItsPlan) {
  Begin();
  Suspend("C");
  Lose("D").Ignore();
  Connect("C");
  Open("C");
  Expect("C: opened", "C: lost slot 3", "C: lost slot 6");
  Shape();
  Order(Ring({"A", "B", "D"}).All(), attempts_);
  Expect();  // the plan is known
}

TEST_F(Striped, APlanThatWasLostWithTheSessionIsTakenWhenItIsRepeated) {
  Begin().Lose("B");
  Suspend("C").Ignore();
  Connect("C");
  Open("C").Shape();
  Order(Ring({"A", "D"}).All());
  ExpectAmong("A: 3 pulls 2 from D v7 {3}");
}

TEST_F(Striped, ARestartedShardIsToldThePlanAgain) {
  Begin();
  Restart(Recovering()).Connect("C");
  Open("C").Shape();
  Order(Ring({"A", "B", "D"}).All(), 7).EndInventory("C");
  for (const std::string member : {"A", "B", "D"}) Connect(member).EndInventory(member);
  Ignore();
  EXPECT_TRUE(state_->collecting());
  After(seconds(1));
  ExpectAmong("D: 6 pulls 2 from B v6 {12}");
  AllAsk().HasAll("D");
  ExpectAmong("C: committed v8 of 3");
}

TEST_F(Striped, APlanThatComesWithAnOpenThatWaitsIsKept) {
  Join("C").Join("A").Join("B").Join("S").Put("S").Suspend("S").Ignore();
  Open("C").Shape();
  Order(Ring({"A", "B"}).All());
  Expect();
  Reductions::Lose("S");
  ExpectAmong("B: 4 pulls 1 from A v2 {12}");
}

TEST_F(Striped, ARepeatedCommitIsAnsweredAgainAndCompletesNobody) {
  Begin().AllAsk().HasAll("A").Suspend("B").Ignore();
  Connect("B").Asks("B").EndInventory("B");
  Expect("B: committed v4 of 0");
  EXPECT_FALSE(HolderAt("B").complete);
  Say("A", CopyComplete{object_, target()});
  Close();
  Asks("B");
  Expect("B: committed v4 of 0");
  EXPECT_FALSE(HolderAt("B").complete);
  Reads("R");
  ExpectAmong("R <- A");
}

TEST_F(Striped, ACoordinatorThatMissedTheCommitHearsItAgain) {
  Begin();
  Suspend("C").Ignore();
  AllAsk().HasAll("A").Ignore();
  Connect("C");
  Open("C");
  Expect("C: opened", "C: committed v4 of 3");
}

// The shard has forgotten it, and learns of the commit from who heard it.
TEST_F(Striped, ACommitIsAnsweredByAShardThatHasRestarted) {
  Begin().AllAsk().HasAll("A").Close().Ignore();
  const Version made = target();
  Restart(Recovering()).Connect("B");
  Say("B", Held{object_, made, layout_, "", layout_.empty_marks(), false, 2});
  Say("B", SlotProgress{object_, 5, made, layout_.empty_marks()});
  Say("B", ReduceCommit{object_, made}).EndInventory("B");
  Connect("A");
  Say("A", Held{object_, made, layout_, "", layout_.full_marks(), true}).EndInventory("A");
  Expect();
  After(seconds(1));
  Expect("B: committed v4 of 0");
  EXPECT_FALSE(HolderAt("B").complete);
}

TEST_F(Striped, RootsThatAShardDoesNotKnowAreDropped) {
  Begin();
  const Version made = target();
  Restart(Recovering()).Connect("B");
  Say("B", SlotProgress{object_, 5, made, layout_.empty_marks()});
  Say("B", ReduceCommit{object_, made}).EndInventory("B").After(seconds(1));
  Expect("B: drops 5 v4");
}

// --- garbage

class StripedGarbage : public Striped {
 protected:
  // What the coordinator hears of a plan that `spoil` made impossible.
  template <typename Spoil>
  std::string Spoiled(Spoil spoil) {
    Join("A").Join("B").Join("D").Join("C").Join("L").Join("M");
    OpenAnother("C").Shape().Ignore();
    std::vector<SlotOrder> orders = Ring({"A", "B", "D"}).All();
    spoil(orders);
    Order(orders);
    // Nothing of it is taken.
    Expect("C: reduction refused protocol", "C: aborted protocol");
    return last_message_;
  }
};

TEST_F(StripedGarbage, WalksThatDoNotEnd) {
  const auto spoil = [](auto& orders) {
    for (SlotOrder& order : orders) {
      if (order.parents.empty()) order.parents = {order.slot - 3};
    }
  };
  EXPECT_THAT(Spoiled(spoil), HasSubstr("makes no stripe that slot 1 makes"));
  // Stripe 1 goes round: what feeds root 5 feeds slot 2, which makes it, too.
  const auto circle = [](auto& orders) {
    orders[1].stripes |= 2;
    orders[0].parents = {2};
    orders[1].parents = {3, 6};
    orders[4].inputs = orders[1].inputs = {};
  };
  EXPECT_EQ(Spoiled(circle), "slot 1, fed to 2, would be fed by itself in stripe 1");
}

TEST_F(StripedGarbage, StripesThatAreFedTwiceOrNotAtAll) {
  EXPECT_EQ(Spoiled([](auto& orders) { orders[0].parents = {2}; }),
            "slot 1, fed to 2, feeds stripe 1 to nobody");
  EXPECT_EQ(Spoiled([](auto& orders) { orders[1].parents = {3}; }),
            "slot 2, fed to 3, feeds stripes 2, 3 to nobody");
  const auto two = [](auto& orders) {
    orders[0].parents = {2, 5, 6};
    orders[5].children = 2;
  };
  EXPECT_EQ(Spoiled(two), "slot 1, fed to 2, 5, 6, feeds stripes 2, 3 to two slots");
  EXPECT_EQ(Spoiled([](auto& orders) { orders[0].parents = {2, 2, 5}; }),
            "slot 1, fed to 2, 2, 5, feeds one slot twice");
  EXPECT_EQ(Spoiled([](auto& orders) { orders[1].parents = {3, 6, 9}; }),
            "slot 2, fed to 3, 6, 9, waits for slot 9, which is not there");
}

TEST_F(StripedGarbage, StripesWithTwoRootsOrWithNone) {
  EXPECT_EQ(Spoiled([](auto& orders) { orders.push_back({8, {}, 4, 0, kNoNode, {}}); }),
            "slot 8, a root, is a second root of stripe 2");
  EXPECT_THAT(Spoiled([](auto& orders) { orders.erase(orders.begin() + 3); }),
              HasSubstr("waits for slot 4, which is not there"));
  const auto less = [](auto& orders) {
    orders[5].stripes = 4;
    orders[0].stripes = 6;
    orders[1].stripes = 5;
  };
  EXPECT_EQ(Spoiled(less), "no root makes stripe 3");
  const auto both = [&](auto& orders) { orders[4].node = orders[3].node; };
  EXPECT_THAT(Spoiled(both), HasSubstr("slot 5, a root, is the second of"));
}

TEST_F(StripedGarbage, SourcesThatCountTwiceOrNotInAllStripes) {
  EXPECT_THAT(Spoiled([](auto& orders) { orders[1].inputs = orders[0].inputs; }),
              HasSubstr("of slot 2 has a slot already"));
  EXPECT_THAT(Spoiled([](auto& orders) { orders[3].inputs.clear(); }),
              HasSubstr("is missing in stripe 0"));
  EXPECT_THAT(Spoiled([](auto& orders) { orders[0] = {1, {2, 5}, 14, 1, kNoNode, {}}; }),
              HasSubstr("is missing in stripes 1, 2, 3"));
}

// A child beyond the count would be left out of the sum, one that lacks be waited for.
TEST_F(StripedGarbage, SlotsThatCountTheirChildrenWrong) {
  EXPECT_EQ(Spoiled([](auto& orders) { orders[3].children = 0; }),
            "slot 4, a root, has 1 children, its order counts 0");
  EXPECT_EQ(Spoiled([](auto& orders) { orders[1].children = 2; }),
            "slot 2, fed to 3, 6, waits for 2 children of 1");
}

TEST_F(StripedGarbage, NumbersAndStripesThatAreNone) {
  EXPECT_THAT(Spoiled([](auto& orders) { orders[5].slot = 0; }), HasSubstr("out of range"));
  EXPECT_THAT(Spoiled([](auto& orders) { orders[5].slot = 3; }), HasSubstr("is ordered twice"));
  EXPECT_THAT(Spoiled([](auto& orders) { orders[5].stripes = 0; }), HasSubstr("makes no stripe"));
  EXPECT_EQ(Spoiled([](auto& orders) { orders[0].stripes = 30; }),
            "slot 1, fed to 2, 5, makes stripe 4, which the target does not have");
  EXPECT_THAT(Spoiled([](auto& orders) { orders[0].parents = {0}; }), HasSubstr("out of range"));
  EXPECT_THAT(Spoiled([](auto& orders) { orders[0].parents.assign(65, 4); }),
              HasSubstr("feeds more slots than stripes are"));
}

// A part of a plan makes sense with the whole of it only.
TEST_F(StripedGarbage, APartThatIsOrderedAloneEndsTheReduction) {
  Begin();
  const SlotOrder ring = Ring({"A", "B", "D"}).All()[0];
  const auto say = [&](SlotOrder order, bool planned) {
    if (planned) {
      Begin();
    } else {
      OpenAnother("C").Shape().Ignore();
    }
    Say("C", protocol::OneOrder(object_, request_, ++attempts_, std::move(order)));
    ExpectAmong("C: reduction refused protocol");
    return last_message_;
  };
  const SlotOrder of_several{7, {4, 5, 6}, 15, 0, Id("M"), {}};
  const SlotOrder of_a_tree{7, {4}, 15, 0, Id("M"), {}};
  Close();
  for (const bool planned : {false, true}) {
    EXPECT_THAT(say(ring, planned), HasSubstr("is a part of a plan and is ordered alone"));
    EXPECT_THAT(say(of_several, planned), HasSubstr("is a part of a plan and is ordered alone"));
  }
  EXPECT_THAT(say(of_a_tree, true), HasSubstr("is a part of a plan and is ordered alone"));
}

}  // namespace
}  // namespace hoplite::planner
