// ChildProcess: a daemon of this same program, which ends when this process does, however that ends.
//
// Its standard output is read by this side, its standard error is shared. Ctrl-C on the terminal
// reaches this process only, which decides which children to stop. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include <hoplite/result.h>

#include "base/time.h"
#include "cli/process_end.h"
#include "cli/stop_signal.h"

namespace hoplite::cli {

class ChildProcess {
 public:
  // Starts this same program with other arguments, those of a daemon that knows --exit-with-parent.
  static Result<ChildProcess> StartSelf(std::vector<std::string> arguments);
  ~ChildProcess();  // Stop()
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  pid_t pid() const { return pid_; }
  int exit_fd() const { return end_.fd(); }  // readable once the process has ended
  bool running() const;

  // The next line of its output, without the end of line. `unavailable` if it ended, `timeout` if
  // nothing came, `cancelled` if the user wants to stop.
  Result<std::string> ReadLine(Duration timeout, const StopSignal& stop);
  // kill -9, and waits for the end.
  void Kill();
  // Asks it to end (SIGTERM); kills it if it doesn't within a few seconds. Idempotent.
  void Stop();
  // Like Stop without the wait, so that several end at the same time.
  void AskToStop();
  // "exited with status 1", "was killed by signal 9"; waits for the end.
  std::string Reap();

 private:
  ChildProcess(pid_t pid, ProcessEnd end, int output_fd);
  Result<void> WaitForOutput(Time deadline, const StopSignal& stop) const;

  pid_t pid_ = -1;
  ProcessEnd end_;
  int output_fd_ = -1;
  std::string unread_;
  std::string ending_;  // set by Reap
};

}  // namespace hoplite::cli
