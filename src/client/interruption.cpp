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

Interruption::~Interruption() { innermost = outer_; }

bool Interruption::Wanted() { return innermost != nullptr && innermost->Ask(); }

bool Interruption::Ask() {
  if (came_) return true;
  if (Now() < next_) return false;
  came_ = wanted_() || (outer_ != nullptr && outer_->Ask());
  next_ = Now() + (came_ ? Duration::zero() : Duration(kAskEvery));
  return came_;
}

Time Interruption::NextQuestion() { return innermost == nullptr ? kNever : innermost->next_; }

Uninterrupted::Uninterrupted() : outer_(std::exchange(innermost, nullptr)) {}
Uninterrupted::~Uninterrupted() { innermost = outer_; }

Error Interruption::Reason() { return {ErrorCode::kCancelled, "the caller was interrupted"}; }

}  // namespace hoplite::client
