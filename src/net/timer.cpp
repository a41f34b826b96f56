#include "net/timer.h"

#include <asio/error.hpp>
#include <asio/post.hpp>

#include "base/check.h"

namespace hoplite::net {

Timer::Timer(asio::io_context& loop) : time_(VirtualTime::OfThisThread()), loop_(loop) {
  if (time_ == nullptr) real_.emplace(loop);
}

Timer::~Timer() {
  if (!real_) cancel();
}

void Timer::expires_at(Time when) {
  if (real_) {
    real_->expires_at(when);
  } else {
    cancel();
    when_ = when;
  }
}

void Timer::cancel() {
  if (real_) {
    real_->cancel();
  } else if (handler_) {
    time_->Forget(ticket_);
    Complete(asio::error::operation_aborted);
  }
}

void Timer::WaitVirtually(Handler handler) {
  HOPLITE_CHECK(!handler_, "a timer has one wait at a time");
  handler_ = std::move(handler);
  ticket_ = time_->At(when_, [this] { Complete(asio::error_code()); });
}

void Timer::Complete(asio::error_code error) {
  asio::post(loop_, [handler = std::exchange(handler_, nullptr), error] { handler(error); });
}

}  // namespace hoplite::net
