// What a source can send that told nothing: one receiver more finds out.
#include <cstdint>
#include <string>

#include "base/units.h"
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// S has the object, R1 gets 1 MiB in 100 ms from there, and passes that on to R2.
class TrialOfALink : public Scenario {
 protected:
  TrialOfALink() { layout_ = Layout::For(64_MiB, 1); }

  void Line(std::uint64_t told = 0) {
    for (const char* node : {"S", "R1", "R2", "R3"}) JoinAt(node, "", told);
    Put("S").Get("R1").Get("R2").Ignore();
  }
  void Has(const std::string& node, std::uint64_t more) {
    has_[node] += more;
    Say(node, protocol::Progress{.object = object_,
                                 .version = VersionAt(node),
                                 .marks = Marks(Blocks(has_[node])),
                                 .at = now_});
  }
  // In so many steps of 50 ms.
  void Flow(int steps, std::uint64_t r1_of_a_step, std::uint64_t r2_of_a_step) {
    for (int i = 0; i < steps; ++i) {
      After(milliseconds(50));
      Has("R1", r1_of_a_step);
      if (r2_of_a_step > 0) Has("R2", r2_of_a_step);
    }
  }
  void LineFlows() { Flow(7, 512_KiB, 0); }
  // R2 leaves R1, and begins to get bytes from S.
  void BeginTrial() {
    Line();
    const GrantId first = NewestGrant("R2");
    LineFlows();
    Expect("R2 <- S moved");
    EXPECT_EQ(why_, MoveReason::kTrial);
    Say("R2",
        GrantClosed{object_, VersionAt("R2"), first, Outcome::kFailed, Failure::kNone, Marks(0)});
    Flow(2, 512_KiB, 16_KiB);
  }
  std::uint32_t Blocks(std::uint64_t bytes) const {
    return static_cast<std::uint32_t>(bytes / layout_.block_bytes);
  }

  std::map<std::string, std::uint64_t> has_;
};

TEST_F(TrialOfALink, WhoGetsNoMoreGoesBack) {
  BeginTrial();
  Flow(5, 256_KiB, 256_KiB);  // each half of what came to R1 alone
  Expect("R2 <- R1 moved");
}

TEST_F(TrialOfALink, WhoGetsMoreStaysAndTheSlowOneGoesBehind) {
  BeginTrial();
  Flow(8, 256_KiB, 1_MiB);
  Expect("R1 <- R2 moved");
}

// A pause of R1 before the trial makes no stream faster than R1's is now.
TEST_F(TrialOfALink, WhoGetsAsMuchAsTheOtherGoesBack) {
  BeginTrial();
  Flow(15, 768_KiB, 768_KiB);
  Expect("R2 <- R1 moved");
}

// Which it may take again.
TEST_F(TrialOfALink, NobodyElseGetsThePlaceMeanwhile) {
  BeginTrial();
  Get("R3");
  Expect("R3: located v1", "R3 <- R2");
}

TEST_F(TrialOfALink, ThePlaceIsFreeOnceTheTrialIsOver) {
  BeginTrial();
  Get("R3").Ignore();
  Lose("R2");
  Expect("R3 <- R1 moved");
}

TEST_F(TrialOfALink, ASourceIsNotTriedAgainForTenMinutes) {
  BeginTrial();
  Flow(5, 256_KiB, 256_KiB);
  Ignore();
  Delete("S").Ignore();
  Gone("R1").Gone("R2").Gone("S").Ignore();
  object_ = ObjectId::FromName("another");
  has_.clear();
  Put("S").Get("R1").Get("R2").Ignore();
  LineFlows();
  Expect();
  After(minutes(10));
  LineFlows();
  Expect("R2 <- S moved");
}

TEST_F(TrialOfALink, WhatWasToldIsNotTried) {
  Line(10 << 20);
  LineFlows();
  Expect();
}

TEST_F(TrialOfALink, WhatIsSoonDoneIsNotWorthIt) {
  layout_ = Layout::For(16_MiB, 1);
  Line();
  LineFlows();
  Expect();
}

TEST_F(TrialOfALink, WhereOtherObjectsUseTheLinkNobodyTries) {
  joint_ = true;
  Line();
  After(milliseconds(5)).Ignore();  // the first pass
  Flow(30, 512_KiB, 0);
  Expect();
}

}  // namespace
}  // namespace hoplite::planner
