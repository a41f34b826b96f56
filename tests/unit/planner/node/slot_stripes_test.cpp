// A slot that makes some stripes, or is fed by some children in some of them (R64).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slot_execution.h"

namespace hoplite::planner {
namespace {

using namespace slot_execution;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SlotStripes, AChildIsPulledInTheStripesThatItFeeds) {
  Execution slot = Execution::Part(kBothStripes, 1, {kParent});
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kSecondStripe);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));
  slot.Breaks(1, Failure::kBroken).After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));
  slot.state().OnStripesEnded(1, kSecondStripe);
  slot.Breaks(1, Failure::kNone);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));
}

// Else those of a ring wait for each other in a circle.
TEST(SlotStripes, AStripeIsSealedWhateverTheOthersWaitFor) {
  Execution slot = Execution::Part(kBothStripes, 1, {kParent});
  slot.Source(0, OwnSource::kFinal).Memory().Made(kFirstStripe);
  EXPECT_THAT(slot.Answers(), IsEmpty());  // the child that is not known yet may feed it
  slot.Feed(1, kSecondStripe);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part", "seal stripes 1"));
  slot.Made(kBothStripes);
  EXPECT_THAT(slot.Answers(), IsEmpty());  // its bytes are there, their END is not
  slot.state().OnStripesEnded(1, kSecondStripe);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "seal stripes 2"));
  EXPECT_TRUE(slot.state().final());
}

TEST(SlotStripes, NoStripeIsSealedBeforeItsOwnSourcesAreFinal) {
  Execution slot = Execution::Part(kBothStripes, 1, {kParent});
  slot.Source(0, OwnSource::kGrowing).Memory().Feed(1, kSecondStripe).Made(kFirstStripe);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));
  slot.Source(0, OwnSource::kFinal);
  EXPECT_THAT(slot.Answers(), ElementsAre("seal stripes 1"));
}

TEST(SlotStripes, ARootOfAPartAsksWhenThatPartIsFoldedAndSealsNothing) {
  Execution slot = Execution::Part(kSecondStripe, 1);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kBothStripes);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));  // it makes no other stripe
  slot.Made(kFirstStripe);
  slot.state().OnStripesEnded(1, kSecondStripe);
  EXPECT_THAT(slot.Answers(), IsEmpty());  // what others of its node brought is no matter
  slot.Made(kBothStripes);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "commit?"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "drained 1", "commit?"));
  slot.Committed();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // the rest of the target may be missing
  EXPECT_TRUE(slot.state().over());
}

TEST(SlotStripes, WithoutOneOfItsChildrenNoStripeOfTheTargetIsFinal) {
  Execution slot = Execution::Part(kSecondStripe, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kSecondStripe).Made(kSecondStripe).Answers();
  slot.Ends(1);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));
  slot.Feed(2, kSecondStripe);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 2 in part"));
  slot.Ends(2);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 2", "report", "commit?"));
}

TEST(SlotStripes, SeveralParentsDrainItTogether) {
  Execution slot = Execution::Part(kBothStripes, 1, {kParent, kParent + 1});
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kSecondStripe).Made(kFirstStripe).Answers();
  slot.Asked(kFirstStripe).Asked(kSecondStripe).Drained(kFirstStripe);
  EXPECT_FALSE(slot.Spares(false));
  slot.Made(kBothStripes).Ends(1).Answers();
  slot.Drained(kSecondStripe);
  EXPECT_TRUE(slot.Spares(false));
  slot.LetGo().After(std::chrono::hours(1));
  EXPECT_FALSE(slot.wants_memory());
  slot.Asked(kSecondStripe);  // one of them begins anew
  EXPECT_TRUE(slot.wants_memory());
}

}  // namespace
}  // namespace hoplite::planner
