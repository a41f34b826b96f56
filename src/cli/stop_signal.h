// StopSignal: lets a long-running command end itself in order. While one lives, SIGINT, SIGTERM and
// SIGHUP don't kill the process: they make fd() readable and stay so.
//
// Must be made before any thread is started (threads inherit the blocked signals), at most one at a
// time. Used from one thread.
#pragma once

#include <csignal>

#include "base/time.h"

namespace hoplite::cli {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int fd() const { return fd_; }         // for poll()
  bool WaitFor(Duration timeout) const;  // true: one came
  void Wait() const;

 private:
  sigset_t before_;
  int fd_ = -1;
};

}  // namespace hoplite::cli
