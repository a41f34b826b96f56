#include "cli/stop_signal.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"

namespace hoplite::cli {
namespace {

constexpr const char* kElsewhere = "the parent is in another pid namespace";

}  // namespace

StopSignal::StopSignal() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  signals_ = ::signalfd(-1, &wanted, SFD_CLOEXEC);
  fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  HOPLITE_CHECK(signals_ >= 0 && fd_ >= 0, "signalfd and epoll exist on every Linux");
  Watch(signals_);
}

void StopSignal::TakeSignals() const {
  pollfd came{.fd = signals_, .events = POLLIN, .revents = 0};
  for (signalfd_siginfo info; ::poll(&came, 1, 0) > 0;) {
    if (::read(signals_, &info, sizeof info) < 0) break;
  }
}

void StopSignal::Forget() {
  TakeSignals();
  if (!parent_.watching()) return;
  ::epoll_ctl(fd_, EPOLL_CTL_DEL, parent_.fd(), nullptr);
  parent_ = ProcessEnd();
}

StopSignal::~StopSignal() {
  TakeSignals();  // unblocking them would kill the process after its orderly end
  ::close(fd_);
  ::close(signals_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// Not PR_SET_PDEATHSIG: that comes already when the thread that started this process ends.
Result<void> StopSignal::WatchParent(pid_t parent) {
  if (parent == kNobody) return {};
  if (parent == kWhoStartedIt) parent = ::getppid();
  auto end = ProcessEnd::Of(parent);
  if (!end) {
    return std::unexpected(
        Error(ErrorCode::kUnavailable, fmt::format("process {} can't be watched: {}", parent,
                                                   parent > 0 ? end.error().message : kElsewhere)));
  }
  parent_ = *std::move(end);
  Watch(parent_.fd());
  // Who reads what this process logs may be that process. A line that nobody reads any more must not
  // cut the orderly end short.
  std::signal(SIGPIPE, SIG_IGN);
  return {};
}

void StopSignal::Watch(int fd) const {
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = fd}};
  const int added = ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &wanted);
  HOPLITE_CHECK(added == 0, "both can be watched");
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

bool StopSignal::WaitUnless(int other) const {
  pollfd wanted[]{{fd_, POLLIN, 0}, {other, POLLIN, 0}};
  while (::poll(wanted, 2, -1) < 0 && errno == EINTR) {
  }
  return wanted[0].revents != 0;
}

}  // namespace hoplite::cli
