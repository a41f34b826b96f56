#include "client/interruption.h"

#include <utility>

#include "base/clock.h"

namespace hoplite::client {
namespace {

thread_local Interruption* innermost = nullptr;

}  // namespace

Interruption::Interruption(std::function<bool()> wanted)
    : wanted_(std::move(wanted)),
      outer_(std::exchange(innermost, this)),
      next_(Now() + kAskEvery) {}

Interruption::Interruption(const std::stop_token& stop)
    : stop_(stop),
      outer_(std::exchange(innermost, this)),
      next_(outer_ == nullptr ? kNever : outer_->next_) {}

Interruption::~Interruption() { innermost = outer_; }

bool Interruption::Wanted() { return innermost != nullptr && innermost->Ask(); }

bool Interruption::Ask() {
  for (const Interruption* one = this; one != nullptr && !came_; one = one->outer_) {
    came_ = one->stop_.stop_requested();
  }
  if (came_) return true;
  if (wanted_ ? Now() >= next_ : outer_ != nullptr) {
    came_ = (wanted_ && wanted_()) || (outer_ != nullptr && outer_->Ask());
    next_ = !wanted_ ? outer_->next_ : Now() + (came_ ? Duration::zero() : Duration(kAskEvery));
  }
  return came_;
}

Time Interruption::NextQuestion() { return innermost == nullptr ? kNever : innermost->next_; }

std::vector<std::stop_token> Interruption::StopTokens() {
  std::vector<std::stop_token> tokens;
  for (const Interruption* one = innermost; one != nullptr; one = one->outer_) {
    if (one->stop_.stop_possible()) tokens.push_back(one->stop_);
  }
  return tokens;
}

Uninterrupted::Uninterrupted() : outer_(std::exchange(innermost, nullptr)) {}
Uninterrupted::~Uninterrupted() { innermost = outer_; }

Error Interruption::Reason() { return {ErrorCode::kCancelled, "the caller was interrupted"}; }

}  // namespace hoplite::client
