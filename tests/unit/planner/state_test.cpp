// DirectoryState as a value: copies, fingerprints, determinism, and the planted faults.
#include "scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;

class State : public Scenario {
 public:
  Self RestartWith(PlantedFault fault) {
    DirectoryOptions options = New();
    options.fault = fault;
    return Restart(options);
  }
};

TEST_F(State, ACopyGoesItsOwnWay) {
  Join("S").Join("R1").Put("S");
  DirectoryState copy = *state_;
  EXPECT_EQ(copy.Fingerprint(), state_->Fingerprint());
  Get("R1");
  EXPECT_NE(copy.Fingerprint(), state_->Fingerprint());
  EXPECT_TRUE(copy.Find(object_)->transfers.empty());
  copy = *state_;
  EXPECT_EQ(copy.Fingerprint(), state_->Fingerprint());
  const DirectoryState moved = std::move(copy);
  EXPECT_EQ(moved.Fingerprint(), state_->Fingerprint());
}

TEST_F(State, EveryKindOfRequestShowsInTheFingerprint) {
  Join("S").Join("R1").Put("S").Get("R1");
  std::uint64_t last = state_->Fingerprint();
  const auto changed = [&] { return std::exchange(last, state_->Fingerprint()) != last; };
  Progress("R1", 3);
  EXPECT_TRUE(changed());
  Subscribe("S");
  EXPECT_TRUE(changed());
  Evict("S");  // the last complete copy: it becomes primary, which it was
  EXPECT_FALSE(changed());
  Fail("R1", 4);
  EXPECT_TRUE(changed());
  Suspend("S");
  EXPECT_TRUE(changed());
  Create("R1");
  EXPECT_TRUE(changed());
  Delete("R1");
  EXPECT_TRUE(changed());
  After(seconds(61));
  EXPECT_TRUE(changed());
}

TEST_F(State, APlanWithoutNewsSaysNothing) {
  Join("S").Join("R1").Put("S").Get("R1").Ignore();
  const std::uint64_t before = state_->Fingerprint();
  After(Duration{0});
  Expect();
  EXPECT_EQ(state_->Fingerprint(), before);
  EXPECT_EQ(next_, kNever);
}

TEST_F(State, TwinForgetsDescendants) {
  for (const PlantedFault fault : {PlantedFault::kNone, PlantedFault::kForgetsDescendants}) {
    RestartWith(fault);
    for (const char* node : {"S", "R1", "R2"}) Join(node);
    Put("S").Get("R1").Get("R2").Ignore();
    state_->Apply({now_, NodeLost{Id("S")}});
    std::vector<Action> actions;
    state_->Plan(now_, actions);
    const std::string broken = state_->BrokenInvariant();
    EXPECT_EQ(broken.substr(0, 2), fault == PlantedFault::kNone ? "" : "P2");
  }
  RestartWith(PlantedFault::kNone);
}

TEST_F(State, TwinHandsOutDeadNodes) {
  RestartWith(PlantedFault::kHandsOutDeadNodes).Join("S").Join("R1").Put("S").Ignore();
  state_->Apply({now_, NodeLost{Id("S")}});
  std::vector<Action> actions;
  state_->Plan(now_, actions);
  EXPECT_EQ(state_->BrokenInvariant().substr(0, 2), "P4");
  RestartWith(PlantedFault::kNone);
}

TEST_F(State, TwinMixesVersionsOnResume) {
  RestartWith(PlantedFault::kMixesVersionsOnResume);
  for (const char* node : {"S", "T", "R1"}) Join(node);
  Put("S").Get("R1").Progress("R1", 20).Lose("S").Ignore();
  Create("T");
  Expect("T: accepted v2", "R1 <- T moved");  // no recall, and 20 blocks of v1 are kept
}

TEST_F(State, TwinDropsCompletionsOfOldGrants) {
  RestartWith(PlantedFault::kDropsOldGrantCompletions);
  Join("S").Join("R1").Put("S").Get("R1").Lose("S").Complete("R1");
  EXPECT_FALSE(state_->Find(object_)->holders[0].complete);
}

TEST_F(State, TwinListsWaitersForMemory) {
  RestartWith(PlantedFault::kListsWaitersForMemory).Join("S").Join("R1").Put("S");
  state_->Apply({now_, NodeSaid{Id("R1"), planner::Locate{object_}}});
  std::vector<Action> actions;
  state_->Plan(now_, actions);
  EXPECT_EQ(state_->BrokenInvariant().substr(0, 2), "S5");
  RestartWith(PlantedFault::kNone);
}

}  // namespace
}  // namespace hoplite::planner
