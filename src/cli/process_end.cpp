#include "cli/process_end.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/exhaustion.h"
#include "base/try.h"

namespace hoplite::cli {
namespace {

constexpr std::chrono::milliseconds kLooksEvery(200);

// When it was started, by a clock of the kernel: a later process may get its pid. None: it has ended.
std::optional<std::string> StartOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name = text.rfind(')');
  if (name == std::string::npos) return std::nullopt;
  constexpr int kStart = 22;
  std::istringstream fields(text.substr(name + 1));
  std::string field;
  for (int number = 3; number <= kStart && fields >> field; ++number) {
    const bool ended = number == 3 && (field == "Z" || field == "X");
    if (ended) return std::nullopt;
  }
  return field;
}

}  // namespace

struct ProcessEnd::Look {
  pid_t pid = 0;
  std::string start;
  FileDescriptor stop;  // readable: nobody wants to know any more
  int ended = -1;

  void Run() const {
    pollfd stopped{.fd = stop.get(), .events = POLLIN, .revents = 0};
    while (::poll(&stopped, 1, static_cast<int>(kLooksEvery.count())) <= 0) {
      if (StartOf(pid) == start) continue;
      ::eventfd_write(ended, 1);
      return;
    }
  }
};

Result<ProcessEnd> ProcessEnd::Of(pid_t pid) {
  ProcessEnd made;
  // Not pidfd_open(): glibc 2.36 declares it for C only.
  made.fd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (made.watching()) return made;
  if (errno == ESRCH || pid <= 0) {
    return std::unexpected(Error(ErrorCode::kNotFound, "it has ended"));
  }
  if (errno == EMFILE || errno == ENFILE) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted, std::strerror(errno)));
  }
  return ByLooking(pid);
}

Result<ProcessEnd> ProcessEnd::ByLooking(pid_t pid) {
  const auto start = StartOf(pid);
  if (!start) {
    return std::unexpected(Error(ErrorCode::kNotFound,
                                 "the kernel refuses pidfd_open, and /proc "
                                 "shows no such process"));
  }
  ProcessEnd made;
  made.fd_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made.watching() || stop.get() < 0) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted, std::strerror(errno)));
  }
  made.look_ = std::make_shared<Look>(
      Look{.pid = pid, .start = *start, .stop = std::move(stop), .ended = made.fd()});
  TRY_ASSIGN(made.thread_, StartThread([look = made.look_] { look->Run(); }));
  return made;
}

ProcessEnd::~ProcessEnd() {
  if (!thread_.joinable()) return;
  ::eventfd_write(look_->stop.get(), 1);
  thread_.join();
}

ProcessEnd& ProcessEnd::operator=(ProcessEnd&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(look_, other.look_);
  std::swap(thread_, other.thread_);
  return *this;
}

}  // namespace hoplite::cli
