// ReadyCalls: the functions that a client's user wants called when an answer is there
// (Future::OnReady). The connection's reader calls them; where there is none, whoever settles one.
//
// Decides: nothing. Is told: what was settled, and who wants to hear of it. Must never: call a
// function twice, or while a lock is held; let one run, or live, after Forget has returned (but for
// one that calls Forget itself). Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/time.h"
#include "client/pending.h"

namespace hoplite::client {

class ReadyCalls {
 public:
  using Function = std::function<void()>;
  // How long an answer that is due at a deadline is waited for now; later for a later deadline.
  using LastMoment = std::function<Time(Time deadline)>;

  explicit ReadyCalls(LastMoment last_moment) : last_moment_(std::move(last_moment)) {}

  // `function` is due when `pending` is settled, or now if it is. If it is not at the last moment,
  // `give_up` is due, which settles it.
  void Add(const PendingPtr& pending, Time deadline, Function give_up, Function function);
  // It was settled: what waits for that is due. True: something does.
  bool OnSettled(const Pending& pending);
  // Waits for a function of it that is running on another thread.
  void Forget(const Pending& pending);

  // --- The reader's ---
  // Calls all that is due.
  void Call();
  // When something will be due by itself; kNever: it won't.
  Time next() const;

 private:
  struct Waiting {
    PendingPtr pending;
    Time deadline = kNever;
    Function give_up;
    std::vector<Function> functions;
  };
  struct Due {
    const Pending* pending = nullptr;
    Function function;
  };
  using Deadline = std::pair<Time, const Pending*>;

  bool MakeDue(const Pending& pending) HOPLITE_REQUIRES(mutex_);
  Due TakeDue();  // none: its pending is null
  void GiveUpLate();
  void EraseDeadline(const Pending& pending, const Waiting& waiting) HOPLITE_REQUIRES(mutex_);

  const LastMoment last_moment_;
  mutable Mutex mutex_;
  std::map<const Pending*, Waiting> waiting_ HOPLITE_GUARDED_BY(mutex_);
  std::set<Deadline> deadlines_ HOPLITE_GUARDED_BY(mutex_);  // of those in waiting_ that have one
  std::deque<Due> due_ HOPLITE_GUARDED_BY(mutex_);
  // Whose function runs now, and where. Waited for without a condition variable: to destroy one in
  // a forked child would wait for the parent's threads.
  std::atomic<const Pending*> running_{nullptr};
  std::thread::id running_on_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::client
