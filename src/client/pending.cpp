#include "client/pending.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "base/clock.h"

namespace hoplite::client {

// One waiting thread.
class Waker {
 public:
  void Wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  void SleepUntil(Time deadline) {
    std::unique_lock lock(mutex_);
    const auto woken = [this] { return woken_; };
    if (deadline == kNever) {
      changed_.wait(lock, woken);
    } else {
      changed_.wait_until(lock, deadline, woken);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

bool Pending::Settle(Result<local::Answer> outcome) {
  const std::lock_guard lock(mutex_);
  if (outcome_) return false;
  outcome_ = std::move(outcome);
  for (Waker* waker : wakers_) waker->Wake();
  return true;
}

bool Pending::settled() const {
  const std::lock_guard lock(mutex_);
  return outcome_.has_value();
}

bool Pending::AddWaker(Waker* waker) {
  const std::lock_guard lock(mutex_);
  if (outcome_) return true;
  wakers_.push_back(waker);
  return false;
}

void Pending::RemoveWaker(Waker* waker) {
  const std::lock_guard lock(mutex_);
  std::erase(wakers_, waker);
}

std::optional<std::size_t> WaitForAny(std::span<Pending* const> pendings, Time deadline) {
  Waker waker;
  std::size_t registered = 0;
  while (registered < pendings.size() && !pendings[registered]->AddWaker(&waker)) ++registered;
  if (registered == pendings.size()) waker.SleepUntil(deadline);
  for (Pending* pending : pendings.first(registered)) pending->RemoveWaker(&waker);
  const auto settled =
      std::ranges::find_if(pendings, [](const Pending* pending) { return pending->settled(); });
  if (settled == pendings.end()) return std::nullopt;
  return static_cast<std::size_t>(settled - pendings.begin());
}

bool WaitFor(Pending& pending, Time deadline) {
  Pending* const only = &pending;
  return WaitForAny({&only, 1}, deadline).has_value();
}

Time DeadlineAfter(std::chrono::milliseconds timeout) {
  const Time now = Now();
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(kNever - now);
  if (timeout >= left) return kNever;
  return now + std::max(timeout, std::chrono::milliseconds(0));
}

}  // namespace hoplite::client
