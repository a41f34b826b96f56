#include "client/pending.h"

#include <algorithm>
#include <forward_list>
#include <stop_token>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "client/interruption.h"

namespace hoplite::client {

// One waiting thread.
class Waker {
 public:
  void Wake() {
    const MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyOne();
  }
  // False: nobody woke it.
  bool SleepUntil(Time deadline) {
    const MutexLock lock(mutex_);
    while (!woken_ && changed_.WaitUntil(mutex_, deadline)) {
    }
    return woken_;
  }
  // Or until this thread is interrupted.
  void Sleep(Time deadline) {
    while (!SleepUntil(std::min(deadline, Interruption::NextQuestion()))) {
      if (Now() >= deadline || Interruption::Wanted()) return;
    }
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool woken_ HOPLITE_GUARDED_BY(mutex_) = false;
};

bool Pending::Settle(Result<local::Answer> outcome) {
  const MutexLock lock(mutex_);
  if (outcome_) return false;
  outcome_ = std::move(outcome);
  for (Waker* waker : wakers_) waker->Wake();
  return true;
}

bool Pending::settled() const {
  const MutexLock lock(mutex_);
  return outcome_.has_value();
}

bool Pending::AddWaker(Waker* waker) {
  const MutexLock lock(mutex_);
  if (outcome_) return true;
  wakers_.push_back(waker);
  return false;
}

void Pending::RemoveWaker(Waker* waker) {
  const MutexLock lock(mutex_);
  std::erase(wakers_, waker);
}

namespace {

// Whatever can be asked to stop wakes it, too.
void SleepOrStop(Waker& waker, Time deadline) {
  const auto wake = [&waker] { waker.Wake(); };
  std::forward_list<std::stop_callback<decltype(wake)>> callbacks;
  for (const std::stop_token& stop : Interruption::StopTokens()) {
    callbacks.emplace_front(stop, wake);
  }
  waker.Sleep(deadline);
}

}  // namespace

std::optional<std::size_t> WaitForAny(std::span<Pending* const> pendings, Time deadline) {
  Waker waker;
  std::size_t registered = 0;
  while (registered < pendings.size() && !pendings[registered]->AddWaker(&waker)) ++registered;
  if (registered == pendings.size()) SleepOrStop(waker, deadline);
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

std::chrono::milliseconds Left(Time deadline) {
  if (deadline == kNever) return std::chrono::milliseconds::max();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Now());
  return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace hoplite::client
