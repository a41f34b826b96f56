#include "cli/standard_streams.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hoplite::cli {

// The sanitizers' libraries are not ready this early.
#ifdef __clang__
__attribute__((disable_sanitizer_instrumentation))
#endif
void OccupyStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::syscall(SYS_fcntl, fd, F_GETFD) >= 0) continue;
    // It takes the lowest number that is free, which is this one.
    ::syscall(SYS_openat, AT_FDCWD, "/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool StandardStreamsAreOpen() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) return false;
  }
  return true;
}

}  // namespace hoplite::cli
