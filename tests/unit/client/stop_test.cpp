// A std::stop_token ends whatever waits, at once, and nothing else.
#include <chrono>
#include <future>
#include <stop_token>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "base/clock.h"
#include "testing/attached_test.h"
#include "testing/bytes.h"
#include "testing/eventually.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

class StopTest : public AttachedTest {
 protected:
  const ObjectId id_ = ObjectId::Random();
  std::stop_source stop_;

  // Runs `wait` on another thread, stops it once the node has `waiting` requests; what it answers.
  template <typename Wait>
  auto Stopped(std::size_t waiting, Wait wait) {
    stop_ = std::stop_source();
    auto answer = std::async(std::launch::async, wait);
    EXPECT_TRUE(Eventually([&] { return node_.waiting() == waiting; }));
    EXPECT_EQ(answer.wait_for(0ms), std::future_status::timeout);
    stop_.request_stop();
    return CodeOf(answer.get());
  }
};

HOPLITE_TEST_BOTH_WAYS(StopTest);

TEST_P(StopTest, EndsEachCallThatWaits) {
  const auto options = [&] { return CallOptions{.stop = stop_.get_token()}; };
  std::vector<std::byte> room(10);
  const auto cancelled = testing::Optional(ErrorCode::kCancelled);
  EXPECT_THAT(Stopped(1, [&] { return client_.Get(id_, options()); }), cancelled);
  EXPECT_THAT(Stopped(1, [&] { return client_.Open(id_, options()); }), cancelled);
  EXPECT_THAT(Stopped(1, [&] { return client_.GetInto(id_, room, options()); }), cancelled);
  EXPECT_THAT(Stopped(1, [&] { return client_.GetMany({{id_}}, options()).front(); }), cancelled);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; })) << "the node forgets them";
}

TEST_P(StopTest, OfAFutureItEndsTheWaitAndNotTheRequest) {
  const auto future = client_.GetAsync(id_);
  const auto cancelled = testing::Optional(ErrorCode::kCancelled);
  EXPECT_THAT(Stopped(1, [&] { return future.Wait(stop_.get_token()); }), cancelled);
  EXPECT_THAT(Stopped(1, [&] { return future.Wait(1h, stop_.get_token()); }), cancelled);
  EXPECT_THAT(Stopped(1, [&] { return WaitAny({future}, kForever, stop_.get_token()); }),
              cancelled);
  EXPECT_FALSE(future.ready());
  ASSERT_TRUE(Attach().Put("here", {.id = id_}));
  EXPECT_EQ(Text(future.Wait()), "here");
}

TEST_P(StopTest, WhatWasStoppedBeforeWaitsForNothing) {
  stop_.request_stop();
  const Time start = Now();
  EXPECT_EQ(CodeOf(client_.Get(id_, {.stop = stop_.get_token()})), ErrorCode::kCancelled);
  EXPECT_LT(Now() - start, 10s);
  EXPECT_TRUE(client_.Status()) << "the next call is another one";
}

}  // namespace
}  // namespace hoplite::test
