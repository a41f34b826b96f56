#include "net/signal.h"

#include <atomic>

#include <asio/dispatch.hpp>

#include "net/await.h"
#include "net/timer.h"

namespace hoplite::net {

// Shared by the Signal, its waiter and notifications on their way: each may be the last to go.
struct Signal::State {
  enum class Phase : std::uint8_t { kIdle, kWaiting, kNotified };

  explicit State(asio::io_context& loop_in) : loop(loop_in), timer(loop_in) {}

  static Task<bool> Wait(std::shared_ptr<State> self, Time deadline) {
    bool notified = self->phase.exchange(Phase::kWaiting) == Phase::kNotified;
    while (!notified && Now() < deadline) {
      asio::error_code ec;
      self->timer.expires_at(deadline);
      co_await self->timer.async_wait(Into(ec));
      // A wake-up that was meant for an earlier wait may end this one: so look whether this one was
      // notified.
      notified = self->phase.load() == Phase::kNotified;
    }
    // The exchange, not a store: it sees what was written before a notification that comes now.
    co_return self->phase.exchange(Phase::kIdle) == Phase::kNotified || notified;
  }

  asio::io_context& loop;
  Timer timer;
  std::atomic<Phase> phase{Phase::kIdle};
};

Signal::Signal(asio::io_context& loop) : state_(std::make_shared<State>(loop)) {}
Signal::~Signal() = default;

void Signal::Notify() noexcept {
  if (state_->phase.exchange(State::Phase::kNotified) != State::Phase::kWaiting) return;
  asio::dispatch(state_->loop, [state = state_] { state->timer.cancel(); });
}

Task<bool> Signal::Wait(Time deadline) { return State::Wait(state_, deadline); }

}  // namespace hoplite::net
