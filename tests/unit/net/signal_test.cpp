#include "net/signal.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/virtual_time.h"
#include "testing/run_task.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;

Time In(Duration d) { return std::chrono::steady_clock::now() + d; }

struct SignalTest : ::testing::Test {
  asio::io_context loop{1};
  Signal signal{loop};
};

TEST_F(SignalTest, NotificationWithNobodyWaitingIsKept) {
  signal.Notify();
  EXPECT_TRUE(hoplite::test::RunTask(loop, signal.Wait(In(20s))));
}

TEST_F(SignalTest, OneNotificationIsKeptNotACount) {
  signal.Notify();
  signal.Notify();
  EXPECT_TRUE(hoplite::test::RunTask(loop, signal.Wait(In(20s))));
  EXPECT_FALSE(hoplite::test::RunTask(loop, signal.Wait(In(5ms))));
}

TEST_F(SignalTest, DeadlineEndsTheWait) {
  const Time start = std::chrono::steady_clock::now();
  EXPECT_FALSE(hoplite::test::RunTask(loop, signal.Wait(start + 20ms)));
  EXPECT_GE(std::chrono::steady_clock::now(), start + 20ms);
  EXPECT_FALSE(hoplite::test::RunTask(loop, signal.Wait(start))) << "a deadline that has passed";
}

TEST_F(SignalTest, NotificationAtADeadlineThatPassedStillCounts) {
  signal.Notify();
  EXPECT_TRUE(hoplite::test::RunTask(loop, signal.Wait(In(-1s))));
}

TEST_F(SignalTest, WakesAWaiterWithoutDeadline) {
  hoplite::test::Running<bool> waiting(loop, signal.Wait());
  loop.poll();
  EXPECT_FALSE(waiting.done());
  signal.Notify();
  EXPECT_TRUE(waiting.Finish());
}

Task<void> WaitTwice(Signal& signal, std::vector<bool>& notified) {
  for (int i = 0; i < 2; ++i) notified.push_back(co_await signal.Wait(Now() + 1h));
}

// A wake-up that is on its way when the deadline ends the wait must not end the next wait.
TEST(SignalInVirtualTime, LateWakeUpDoesNotEndTheNextWait) {
  VirtualTime time;
  asio::io_context loop{1};
  Signal signal{loop};
  std::vector<bool> notified;
  hoplite::test::Spawn(loop, WaitTwice(signal, notified));
  loop.poll();
  time.Step();
  signal.Notify();
  loop.restart();
  loop.poll();
  EXPECT_EQ(notified, std::vector{true});
  time.Step();
  loop.restart();
  loop.poll();
  EXPECT_EQ(notified, (std::vector{true, false}));
}

Task<bool> CountUpTo(Signal& signal, const std::atomic<int>& count, int wanted) {
  while (count.load() < wanted) {
    if (!co_await signal.Wait(In(20s))) co_return false;
  }
  co_return true;
}

TEST_F(SignalTest, NoNotificationOfOtherThreadsIsLost) {
  constexpr int kEach = 20000;
  std::atomic<int> count = 0;
  const auto add = [&] {
    for (int i = 0; i < kEach; ++i) {
      count.fetch_add(1);
      signal.Notify();
    }
  };
  std::jthread one(add);
  std::jthread two(add);
  EXPECT_TRUE(hoplite::test::RunTask(loop, CountUpTo(signal, count, 2 * kEach)));
}

TEST(SignalLife, MayGoWhileANotificationIsOnItsWay) {
  asio::io_context loop(1);
  for (int round = 0; round < 100; ++round) {
    auto signal = std::make_unique<Signal>(loop);
    hoplite::test::Running<bool> waiting(loop, signal->Wait());
    loop.restart();
    loop.poll();
    std::thread([&] { signal->Notify(); }).join();
    signal.reset();
    EXPECT_TRUE(waiting.Finish());
  }
}

TEST(SignalLife, WaiterMayBeDestroyedWithItsLoop) {
  auto loop = std::make_unique<asio::io_context>(1);
  auto signal = std::make_unique<Signal>(*loop);
  const hoplite::test::Running<bool> waiting(*loop, signal->Wait());
  loop->poll();
  signal.reset();
  loop.reset();
  EXPECT_FALSE(waiting.done());
}

}  // namespace
}  // namespace hoplite::net
