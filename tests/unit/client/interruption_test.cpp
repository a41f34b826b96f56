// A thread that is interrupted leaves whatever it waits for, and what it copies.
#include "client/interruption.h"

#include <chrono>
#include <cstddef>
#include <future>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "base/clock.h"
#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using client::Interruption;
using client::Uninterrupted;
using namespace std::chrono_literals;

class InterruptionTest : public AttachedTest {
 protected:
  const ObjectId id_ = ObjectId::Random();
};

HOPLITE_TEST_BOTH_WAYS(InterruptionTest);

TEST_P(InterruptionTest, EndsEveryWaitSoon) {
  const Time start = Now();
  const Interruption at_once([] { return true; });
  EXPECT_EQ(client_.WaitExists({{id_}}, 1).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(client_.Open(id_).error().code, ErrorCode::kCancelled);
  std::vector<std::byte> room(10);
  EXPECT_EQ(client_.GetInto(id_, room).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(client_.Get(id_).error().code, ErrorCode::kTimeout);
  EXPECT_LT(Now() - start, 5s);
}

TEST_P(InterruptionTest, WhatIsWaitedForGoesOn) {
  auto future = client_.GetAsync(id_);
  {
    const Interruption at_once([] { return true; });
    EXPECT_EQ(future.Wait().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(WaitAny({future}).error().code, ErrorCode::kTimeout);
  }
  EXPECT_FALSE(future.ready());
  ASSERT_TRUE(client_.Put("here", {.id = id_}));
  EXPECT_EQ(Text(future.Wait()), "here");
}

TEST_P(InterruptionTest, IsAskedNowAndThenUntilItSaysYes) {
  int asked = 0;
  const Interruption third([&asked] { return ++asked == 3; });
  EXPECT_EQ(client_.WaitExists({{id_}}, 1).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(Interruption::Wanted());
  EXPECT_EQ(asked, 3);
}

TEST_P(InterruptionTest, IsNotAskedByCallsThatAreOverSoon) {
  bool asked = false;
  const Interruption never([&asked] { return asked = true; });
  // A machine that was busy for so long may have asked.
  const auto put = client_.Put("here", {.id = id_});
  if (asked) return;
  ASSERT_TRUE(put);
  const auto got = client_.Get(id_);
  if (!asked) EXPECT_TRUE(got);
}

TEST(Interruption, IsOfTheInnermostAndOfOneThread) {
  EXPECT_FALSE(Interruption::Wanted());
  EXPECT_EQ(Interruption::NextQuestion(), kNever);
  const Interruption no([] { return false; });
  {
    const Interruption yes([] { return true; });
    while (!Interruption::Wanted()) {
    }
    EXPECT_FALSE(std::async(std::launch::async, [] { return Interruption::Wanted(); }).get());
  }
  EXPECT_FALSE(Interruption::Wanted());
  EXPECT_NE(Interruption::NextQuestion(), kNever);
}

TEST(Interruption, IsNotAskedWhileTheThreadIsUninterrupted) {
  const Interruption yes([] { return true; });
  while (!Interruption::Wanted()) {
  }
  {
    const Uninterrupted now;
    EXPECT_FALSE(Interruption::Wanted());
    EXPECT_EQ(Interruption::NextQuestion(), kNever);
  }
  EXPECT_TRUE(Interruption::Wanted());
}

}  // namespace
}  // namespace hoplite::test
