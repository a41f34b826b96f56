#include "cli/stop_signal.h"

#include <cerrno>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"

namespace hoplite::cli {

StopSignal::StopSignal() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  fd_ = ::signalfd(-1, &wanted, SFD_CLOEXEC);
  HOPLITE_CHECK(fd_ >= 0, "signalfd exists on every Linux");
}

StopSignal::~StopSignal() {
  // Takes the signals that came: unblocking them would kill the process after its orderly end.
  for (signalfd_siginfo info; WaitFor(Duration(0));) {
    if (::read(fd_, &info, sizeof info) < 0) break;
  }
  ::close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignal::WaitFor(Duration timeout) const {
  pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  return ::poll(&wanted, 1, static_cast<int>(milliseconds.count())) > 0;
}

void StopSignal::Wait() const {
  pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
  while (::poll(&wanted, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace hoplite::cli
