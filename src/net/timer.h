// Timer: every timed wait of a coroutine uses one. It goes by the machine's clock, or by the
// VirtualTime of the thread that made it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <asio/async_result.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/io_context.hpp>

#include "base/clock.h"
#include "base/time.h"
#include "base/virtual_time.h"

namespace hoplite::net {

// In the manner of Asio's timers, but for one wait at a time.
class Timer {
 public:
  explicit Timer(asio::io_context& loop);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // These three end a wait that is under way with operation_aborted.
  void expires_at(Time when);
  void expires_after(Duration delay) { expires_at(Now() + delay); }
  void cancel();

  template <typename Token>
  auto async_wait(Token&& token) {
    if (real_) return real_->async_wait(std::forward<Token>(token));
    return asio::async_initiate<Token, void(asio::error_code)>(
        [this](auto handler) {
          const auto kept = std::make_shared<decltype(handler)>(std::move(handler));
          WaitVirtually([kept](asio::error_code error) { std::move (*kept)(error); });
        },
        token);
  }

 private:
  using Real = asio::basic_waitable_timer<std::chrono::steady_clock,
                                          asio::wait_traits<std::chrono::steady_clock>,
                                          asio::io_context::executor_type>;
  using Handler = std::function<void(asio::error_code)>;

  void WaitVirtually(Handler handler);
  void Complete(asio::error_code error);

  std::optional<Real> real_;
  // Null: the machine's clock. The members below are used in virtual time only.
  VirtualTime* const time_;
  asio::io_context& loop_;
  Time when_{};
  Handler handler_;
  VirtualTime::Ticket ticket_;
};

}  // namespace hoplite::net
