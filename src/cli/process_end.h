// ProcessEnd: tells that a process has ended, by a descriptor that can be polled.
//
// That is a pidfd. Where the kernel refuses one (before Linux 5.3, gVisor, some seccomp filters) a
// thread looks at the process a few times a second.
#pragma once

#include <memory>
#include <thread>

#include <sys/types.h>

#include <hoplite/result.h>

#include "base/file_descriptor.h"

namespace hoplite::cli {

class ProcessEnd {
 public:
  // Of the process that has this pid now.
  //   not_found           there is none
  //   resource_exhausted  no descriptor or no thread is left
  static Result<ProcessEnd> Of(pid_t pid);
  ProcessEnd() = default;  // of nobody
  ~ProcessEnd();
  ProcessEnd(ProcessEnd&&) noexcept = default;
  ProcessEnd& operator=(ProcessEnd&& other) noexcept;

  int fd() const { return fd_.get(); }  // readable once the process has ended, and stays so
  bool watching() const { return fd_.get() >= 0; }

 private:
  struct Look;
  static Result<ProcessEnd> ByLooking(pid_t pid);

  FileDescriptor fd_;
  std::shared_ptr<Look> look_;  // null: fd_ is a pidfd
  std::thread thread_;
};

}  // namespace hoplite::cli
