// DirectoryState as a value: copies, fingerprints, determinism.
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;

class State : public Scenario {};

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

}  // namespace
}  // namespace hoplite::planner
