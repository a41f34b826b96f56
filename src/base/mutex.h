// Mutex: std::mutex, with the compiler watching. A member with HOPLITE_GUARDED_BY(mutex) can only
// be touched, and a function with HOPLITE_REQUIRES(mutex) only be called, while the mutex is held;
// Clang refuses all else (-Wthread-safety). Constructors and destructors are not watched.
//
// A lambda is judged by itself, so conditions are waited for in loops:
//   while (count_ > 0) none_.Wait(mutex_);
#pragma once

#include <condition_variable>
#include <mutex>

#include <pthread.h>

#include "base/time.h"

#ifdef __clang__
#define HOPLITE_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define HOPLITE_THREAD_SAFETY(attribute)
#endif
#define HOPLITE_GUARDED_BY(mutex) HOPLITE_THREAD_SAFETY(guarded_by(mutex))
#define HOPLITE_REQUIRES(mutex) HOPLITE_THREAD_SAFETY(requires_capability(mutex))

namespace hoplite {

class HOPLITE_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void Lock() HOPLITE_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void Unlock() HOPLITE_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// A mutex that can be given up on. False: it was not to be had before the deadline.
class HOPLITE_THREAD_SAFETY(capability("mutex")) TimedMutex {
 public:
  void Lock() HOPLITE_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  bool LockBefore(Time deadline) HOPLITE_THREAD_SAFETY(try_acquire_capability(true)) {
    return mutex_.try_lock_until(deadline);
  }
  void Unlock() HOPLITE_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  std::timed_mutex mutex_;
};

struct AlreadyLocked {};

// Holds a mutex as long as it lives.
template <typename M>
class HOPLITE_THREAD_SAFETY(scoped_lockable) LockOf {
 public:
  explicit LockOf(M& mutex) HOPLITE_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  LockOf(AlreadyLocked /*tag*/, M& mutex) HOPLITE_REQUIRES(mutex) : mutex_(mutex) {}
  ~LockOf() HOPLITE_THREAD_SAFETY(release_capability()) { mutex_.Unlock(); }
  LockOf(const LockOf&) = delete;
  LockOf& operator=(const LockOf&) = delete;

 private:
  M& mutex_;
};
using MutexLock = LockOf<Mutex>;
using TimedMutexLock = LockOf<TimedMutex>;

// std::condition_variable. Waits may end for no reason: look, and wait again. A wait without a deadline
// asks pthread: of the standard library's own, GCC 12 links a version that older systems don't have.
class Condition {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }
  void Wait(Mutex& mutex) HOPLITE_REQUIRES(mutex) { WaitUntil(mutex, kNever); }
  // False: the deadline has passed.
  bool WaitUntil(Mutex& mutex, Time deadline) HOPLITE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    bool in_time = true;
    if (deadline == kNever) {
      ::pthread_cond_wait(changed_.native_handle(), mutex.mutex_.native_handle());
    } else {
      in_time = changed_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    }
    lock.release();
    return in_time;
  }

 private:
  std::condition_variable changed_;
};

}  // namespace hoplite
