// StopSignal: lets a long-running command end itself in order. While one lives, SIGINT, SIGTERM and
// SIGHUP don't kill the process: they make fd() readable and stay so. Asked to, it does the same
// when the process that started this one ends, by kill -9 too.
//
// Must be made before any thread is started (threads inherit the blocked signals), at most one at a
// time.
#pragma once

#include <csignal>

#include <sys/types.h>

#include <hoplite/result.h>

#include "base/time.h"
#include "cli/process_end.h"

namespace hoplite::cli {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static constexpr pid_t kNobody = -1;
  static constexpr pid_t kWhoStartedIt = 0;
  // From now on. Of kWhoStartedIt it isn't noticed if it ended before this call: its place as the
  // parent is taken already. A process that is named and has ended is noticed. An error if the
  // parent is in another pid namespace.
  Result<void> WatchParent(pid_t parent);

  int fd() const { return fd_; }         // for poll()
  bool WaitFor(Duration timeout) const;  // true: one came
  void Wait() const;
  bool WaitUnless(int other) const;  // false: `other` became readable first
  // What came is over: another signal is waited for, and the parent's end no more.
  void Forget();

 private:
  void Watch(int fd) const;
  void TakeSignals() const;

  sigset_t before_;
  int signals_ = -1;
  ProcessEnd parent_;
  int fd_ = -1;  // an epoll of those two
};

}  // namespace hoplite::cli
