// Deadline: calls `on_expiry` on the loop when the time is over, unless it is destroyed before.
// Used to end an operation from outside (by closing what it waits for), since a timed-out read or
// connect leaves its stream in a state that nobody knows. On the loop only.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/time.h"
#include "net/timer.h"

namespace hoplite::net {

class Deadline {
 public:
  Deadline(asio::io_context& loop, Time when, std::function<void()> on_expiry)
      : state_(std::make_shared<State>(loop, std::move(on_expiry))) {
    state_->timer.expires_at(when);
    state_->timer.async_wait([state = state_](const asio::error_code& ec) {
      if (ec || state->on_expiry == nullptr) return;
      state->expired = true;
      // What it calls may destroy the Deadline.
      const auto call = std::exchange(state->on_expiry, nullptr);
      call();
    });
  }
  ~Deadline() {
    state_->on_expiry = nullptr;  // the timer may have fired already, its handler not run yet
    state_->timer.cancel();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  bool expired() const { return state_->expired; }

 private:
  struct State {
    State(asio::io_context& loop, std::function<void()> call)
        : timer(loop), on_expiry(std::move(call)) {}
    Timer timer;
    std::function<void()> on_expiry;
    bool expired = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace hoplite::net
