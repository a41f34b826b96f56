#include "cli/child_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/try.h"

namespace hoplite::cli {
namespace {

constexpr Duration kPatience = std::chrono::seconds(5);

Error SystemError(const char* what) {
  return {ErrorCode::kUnavailable, fmt::format("{} failed: {}", what, std::strerror(errno))};
}

bool Readable(int fd, Duration timeout) {
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  return ::poll(&wanted, 1, static_cast<int>(milliseconds.count())) > 0;
}

// Between fork and exec only system calls are allowed.
[[noreturn]] void BecomeSelf(char* const* arguments, int output_fd) {
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(output_fd, STDOUT_FILENO);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::StartSelf(std::vector<std::string> arguments) {
  std::string name = "hoplite";
  arguments.push_back(fmt::format("--exit-with-parent={}", ::getpid()));
  std::vector<char*> pointers{name.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) return std::unexpected(SystemError("pipe"));
  const pid_t pid = ::fork();
  if (pid == 0) BecomeSelf(pointers.data(), output[1]);
  ::close(output[1]);
  if (pid < 0) {
    const Error error = SystemError("fork");
    ::close(output[0]);
    return std::unexpected(error);
  }
  auto end = ProcessEnd::Of(pid);
  if (end) return ChildProcess(pid, *std::move(end), output[0]);
  ChildProcess(pid, ProcessEnd(), output[0]).Kill();
  return std::unexpected(
      Error(ErrorCode::kUnavailable,
            fmt::format("process {} can't be watched: {}", pid, end.error().message)));
}

ChildProcess::ChildProcess(pid_t pid, ProcessEnd end, int output_fd)
    : pid_(pid), end_(std::move(end)), output_fd_(output_fd) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(end_, other.end_);
  std::swap(output_fd_, other.output_fd_);
  std::swap(unread_, other.unread_);
  std::swap(ending_, other.ending_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  Stop();
  ::close(output_fd_);
}

bool ChildProcess::running() const { return ending_.empty() && !Readable(exit_fd(), Duration(0)); }

Result<void> ChildProcess::WaitForOutput(Time deadline, const StopSignal& stop) const {
  pollfd wanted[]{{output_fd_, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Now());
  const auto patience = std::max(left, std::chrono::milliseconds(0));
  if (::poll(wanted, 2, static_cast<int>(patience.count())) <= 0) {
    return std::unexpected(Error(ErrorCode::kTimeout, "a child process said nothing in time"));
  }
  if (wanted[1].revents == 0) return {};
  return std::unexpected(Error(ErrorCode::kCancelled, "stopped before the end"));
}

Result<std::string> ChildProcess::ReadLine(Duration timeout, const StopSignal& stop) {
  const Time deadline = Now() + timeout;
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    TRY(WaitForOutput(deadline, stop));
    char buffer[4096];
    const ssize_t count = ::read(output_fd_, buffer, sizeof buffer);
    if (count <= 0) {
      return std::unexpected(
          Error(ErrorCode::kUnavailable, fmt::format("a child process {}", Reap())));
    }
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
}

void ChildProcess::AskToStop() {
  if (ending_.empty()) ::kill(pid_, SIGTERM);
}

void ChildProcess::Kill() {
  if (ending_.empty()) ::kill(pid_, SIGKILL);
  Reap();
}

void ChildProcess::Stop() {
  AskToStop();
  if (ending_.empty() && !Readable(exit_fd(), kPatience)) ::kill(pid_, SIGKILL);
  Reap();
}

std::string ChildProcess::Reap() {
  if (ending_.empty()) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    ending_ = WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status))
                                  : fmt::format("exited with status {}", WEXITSTATUS(status));
  }
  return ending_;
}

}  // namespace hoplite::cli
