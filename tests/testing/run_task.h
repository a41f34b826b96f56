// Runs coroutines of a test on a loop that the test itself turns.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/virtual_time.h"
#include "net/stream.h"

namespace hoplite::test {

inline constexpr std::chrono::seconds kBound{20};  // far beyond what any test takes

// Runs one thing that is ready, or waits for it for a moment. Where the thread has a virtual time,
// that goes on when nothing is ready.
inline void Turn(asio::io_context& loop) {
  loop.restart();
  VirtualTime* const time = VirtualTime::OfThisThread();
  if (time == nullptr) {
    loop.run_one_for(std::chrono::milliseconds(10));
  } else if (loop.poll_one() == 0 && time->next() < kNever) {
    time->Step();
  }
}

// Turns the loop until the condition holds; false if it doesn't within the bound.
inline bool RunUntil(asio::io_context& loop, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kBound;
  while (!condition() && std::chrono::steady_clock::now() < end) Turn(loop);
  return condition();
}

// A task under way beside the test.
template <typename T>
class Running {
 public:
  Running(asio::io_context& loop, net::Task<T> task)
      : loop_(loop), state_(std::make_shared<State>()) {
    asio::co_spawn(loop, std::move(task), [state = state_](std::exception_ptr failure, T value) {
      if (!failure) state->value = std::move(value);
      state->done = true;
    });
  }
  bool done() const { return state_->done; }
  // Turns the loop until the task is done, and gives what it returned.
  T Finish() {
    EXPECT_TRUE(RunUntil(loop_, [this] { return done(); })) << "the task hangs";
    if (!state_->value) throw std::runtime_error("the task gave no value");
    return *std::move(state_->value);
  }

 private:
  struct State {
    std::optional<T> value;
    bool done = false;
  };
  asio::io_context& loop_;
  std::shared_ptr<State> state_;
};

template <typename T>
T RunTask(asio::io_context& loop, net::Task<T> task) {
  return Running<T>(loop, std::move(task)).Finish();
}

inline void Spawn(asio::io_context& loop, net::Task<void> task) {
  asio::co_spawn(loop, std::move(task), asio::detached);
}

}  // namespace hoplite::test
