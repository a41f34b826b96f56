#include "base/virtual_time.h"

#include <chrono>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "net/signal.h"
#include "net/timer.h"

namespace hoplite::net {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(VirtualTime, StepsInTheOrderOfTimeThenOfPlanning) {
  VirtualTime time;
  const Time start = time.Now();
  std::vector<int> steps;
  time.After(seconds(2), [&] { steps.push_back(3); });
  time.After(seconds(1), [&] { steps.push_back(1); });
  time.After(seconds(1), [&] { steps.push_back(2); });
  const auto forgotten = time.After(seconds(1), [&] { steps.push_back(0); });
  time.Forget(forgotten);
  while (time.next() != kNever) time.Step();
  EXPECT_EQ(steps, (std::vector{1, 2, 3}));
  EXPECT_EQ(time.Now(), start + seconds(2));
}

TEST(VirtualTime, IsThatOfItsThreadWhileItLives) {
  {
    const VirtualTime time(Time(hours(1)));
    EXPECT_EQ(Now(), Time(hours(1)));
  }
  EXPECT_EQ(VirtualTime::OfThisThread(), nullptr);
  EXPECT_NE(Now(), Time(hours(1)));
}

TEST(VirtualTime, TimersWaitInItAndCanBeCancelled) {
  VirtualTime time;
  asio::io_context loop;
  std::vector<asio::error_code> ends;
  Timer reached(loop);
  Timer cancelled(loop);
  for (Timer* timer : {&reached, &cancelled}) {
    timer->expires_after(hours(5));
    timer->async_wait([&ends](asio::error_code end) { ends.push_back(end); });
  }
  cancelled.cancel();
  loop.poll();
  EXPECT_EQ(ends, (std::vector<asio::error_code>{asio::error::operation_aborted}));
  time.Step();
  loop.restart();
  loop.poll();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_FALSE(ends.back());
}

Task<void> WaitOnce(Signal& signal, std::vector<bool>& notified) {
  notified.push_back(co_await signal.Wait(Now() + hours(1)));
}

TEST(VirtualTime, SignalsEndAtItsDeadlines) {
  VirtualTime time;
  asio::io_context loop;
  Signal signal(loop);
  std::vector<bool> notified;
  asio::co_spawn(loop.get_executor(), WaitOnce(signal, notified), asio::detached);
  loop.poll();
  EXPECT_TRUE(notified.empty());
  time.Step();
  loop.restart();
  loop.poll();
  EXPECT_EQ(notified, std::vector{false});

  asio::co_spawn(loop.get_executor(), WaitOnce(signal, notified), asio::detached);
  signal.Notify();
  loop.restart();
  loop.poll();
  EXPECT_EQ(notified, (std::vector{false, true}));
  EXPECT_EQ(time.next(), kNever) << "nothing is left behind";
}

}  // namespace
}  // namespace hoplite::net
