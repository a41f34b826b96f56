#include "client/ready_calls.h"

#include "base/clock.h"

namespace hoplite::client {

void ReadyCalls::Add(const PendingPtr& pending, Time deadline, Function give_up,
                     Function function) {
  const MutexLock lock(mutex_);
  // Under the mutex: who settles it later comes to OnSettled after this.
  if (pending->settled()) {
    MakeDue(*pending);  // those that were given before, if OnSettled is still to come
    due_.push_back({pending.get(), std::move(function)});
    return;
  }
  Waiting& waiting = waiting_[pending.get()];
  if (!waiting.pending) {
    waiting = {
        .pending = pending, .deadline = deadline, .give_up = std::move(give_up), .functions = {}};
    if (deadline != kNever) deadlines_.emplace(deadline, pending.get());
  }
  waiting.functions.push_back(std::move(function));
}

bool ReadyCalls::OnSettled(const Pending& pending) {
  const MutexLock lock(mutex_);
  return MakeDue(pending);
}

bool ReadyCalls::MakeDue(const Pending& pending) {
  const auto at = waiting_.find(&pending);
  if (at == waiting_.end()) return false;
  EraseDeadline(pending, at->second);
  for (Function& function : at->second.functions) {
    due_.push_back({&pending, std::move(function)});
  }
  waiting_.erase(at);
  return true;
}

void ReadyCalls::Forget(const Pending& pending) {
  std::vector<Function> forgotten;  // what they hold goes without the lock
  {
    const MutexLock lock(mutex_);
    if (const auto at = waiting_.find(&pending); at != waiting_.end()) {
      EraseDeadline(pending, at->second);
      forgotten = std::move(at->second.functions);
      forgotten.push_back(std::move(at->second.give_up));
      waiting_.erase(at);
    }
    for (Due& due : due_) {
      if (due.pending == &pending) forgotten.push_back(std::exchange(due.function, nullptr));
    }
    std::erase_if(due_, [&](const Due& due) { return due.pending == &pending; });
    if (running_on_ == std::this_thread::get_id()) return;
  }
  running_.wait(&pending);
}

void ReadyCalls::Call() {
  GiveUpLate();
  for (Due due = TakeDue(); due.pending != nullptr; due = TakeDue()) {
    due.function();
    due.function = nullptr;
  }
}

ReadyCalls::Due ReadyCalls::TakeDue() {
  const MutexLock lock(mutex_);
  Due due;
  if (!due_.empty()) {
    due = std::move(due_.front());
    due_.pop_front();
  }
  running_ = due.pending;
  running_on_ = due.pending != nullptr ? std::this_thread::get_id() : std::thread::id();
  running_.notify_all();
  return due;
}

void ReadyCalls::GiveUpLate() {
  const MutexLock lock(mutex_);
  if (deadlines_.empty()) return;
  const Time now = Now();
  while (!deadlines_.empty() && last_moment_(deadlines_.begin()->first) <= now) {
    const Pending* late = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    Waiting& waiting = waiting_.at(late);
    waiting.deadline = kNever;
    due_.push_back({late, std::move(waiting.give_up)});
  }
}

Time ReadyCalls::next() const {
  const MutexLock lock(mutex_);
  return deadlines_.empty() ? kNever : last_moment_(deadlines_.begin()->first);
}

void ReadyCalls::EraseDeadline(const Pending& pending, const Waiting& waiting) {
  if (waiting.deadline != kNever) deadlines_.erase({waiting.deadline, &pending});
}

}  // namespace hoplite::client
