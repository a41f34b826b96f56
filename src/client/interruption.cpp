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

bool Interruption::Wanted() {
  Interruption* const mine = innermost;
  if (mine == nullptr || mine->came_) return mine != nullptr;
  if (Now() < mine->next_) return false;
  mine->came_ = mine->wanted_();
  mine->next_ = Now() + (mine->came_ ? Duration::zero() : Duration(kAskEvery));
  return mine->came_;
}

Time Interruption::NextQuestion() { return innermost == nullptr ? kNever : innermost->next_; }

Uninterrupted::Uninterrupted() : outer_(std::exchange(innermost, nullptr)) {}
Uninterrupted::~Uninterrupted() { innermost = outer_; }

Error Interruption::Reason() { return {ErrorCode::kCancelled, "the caller was interrupted"}; }

}  // namespace hoplite::client
