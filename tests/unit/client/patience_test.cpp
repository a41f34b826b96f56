#include "client/patience.h"

#include <gtest/gtest.h>

#include "wire/local_protocol.h"

namespace hoplite::client {
namespace {

using namespace std::chrono_literals;

constexpr Time kDeadline{1h};

TEST(PatienceTest, ANodeThatIsSilentIsNotWaitedFor) {
  for (const Time heard : {Time::min(), kDeadline - 1s, kDeadline}) {
    EXPECT_EQ(LastMoment(kDeadline, heard), kDeadline + kPatience);
  }
  EXPECT_EQ(LastMoment(kNever, kDeadline), kNever);
}

// Sixty thousand objects that do not exist: their answers come one after the other.
TEST(PatienceTest, ANodeThatGoesOnAnsweringIsWaitedForASecondLonger) {
  EXPECT_EQ(LastMoment(kDeadline, kDeadline + 70ms), kDeadline + 70ms + kPatience);
  EXPECT_EQ(LastMoment(kDeadline, kDeadline + 1min), kDeadline + kLongestAnswering + kPatience);
}

// On a busy host the reason would be late.
TEST(PatienceTest, ANodeGivesTheReasonALittleBeforeTheDeadline) {
  EXPECT_EQ(wire::AnsweredWithin(10s), 9'950ms);
  EXPECT_EQ(wire::AnsweredWithin(200ms), 190ms);
  EXPECT_EQ(wire::AnsweredWithin(1us), 1us);
}

TEST(PatienceTest, AThreadThatWakesLateGivesTheNodeAsLongOnceMore) {
  EXPECT_EQ(OnceMore(kDeadline, kDeadline), kDeadline);
  EXPECT_EQ(OnceMore(kDeadline, kDeadline + 300ms), kDeadline + 600ms);
  EXPECT_EQ(OnceMore(kDeadline, kDeadline + 1min), kDeadline + 1min + kLongestAnswering);
}

}  // namespace
}  // namespace hoplite::client
