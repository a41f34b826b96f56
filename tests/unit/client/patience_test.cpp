#include "client/patience.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hoplite::client
