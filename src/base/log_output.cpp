#include "base/log_output.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hoplite::log {
namespace {

bool HasRoom(int fd) {
  pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&wanted, 1, 0) > 0;
}

}  // namespace

// So that its descriptor is there from the start.
LogOutput::LogOutput(int fd) : shared_(fd) { (void)Look(); }

// A description of its own, if it can be had, so that only this one does not block.
bool LogOutput::Look() {
  struct stat about{};
  if (::fstat(shared_, &about) != 0) return false;
  if (kind_ != Kind::kUnknown && about.st_dev == device_ && about.st_ino == inode_) return true;
  device_ = about.st_dev;
  inode_ = about.st_ino;
  rest_.clear();
  own_.Reset();
  kind_ = S_ISREG(about.st_mode)    ? Kind::kRegular
          : S_ISSOCK(about.st_mode) ? Kind::kSocket
                                    : Kind::kStream;
  if (kind_ != Kind::kStream) return true;
  const std::string path = fmt::format("/proc/self/fd/{}", shared_);
  own_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  return true;
}

// How much of it was taken at once.
std::size_t LogOutput::Begin(std::string_view text) {
  for (;;) {
    ssize_t written = 0;
    if (kind_ == Kind::kSocket) {
      written = ::send(shared_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (kind_ == Kind::kRegular || own_.get() >= 0) {
      written = ::write(own_.get() >= 0 ? own_.get() : shared_, text.data(), text.size());
    } else {
      // Room in a pipe is room for PIPE_BUF bytes at least.
      if (!HasRoom(shared_)) return 0;
      written = ::write(shared_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    }
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno != EINTR) return 0;
  }
}

bool LogOutput::FinishRest() {
  while (!rest_.empty()) {
    const std::size_t taken = Begin(rest_);
    if (taken == 0) return false;
    rest_.erase(0, taken);
  }
  return true;
}

void LogOutput::Write(std::string_view line) {
  if (!Look()) return;
  if (FinishRest()) {
    std::string text;
    if (dropped_ > 0) {
      text = fmt::format("{} lines of the log were dropped: nobody read it\n", dropped_);
    }
    text += line;
    const std::size_t taken = Begin(text);
    if (taken > 0) {
      rest_ = text.substr(taken);
      dropped_ = 0;
      (void)FinishRest();
      return;
    }
  }
  ++dropped_;
}

}  // namespace hoplite::log
