#include "node/local/socket_lock.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/socket_path.h"
#include "base/try.h"

namespace hoplite::node {
namespace {

Error CannotLock(const std::string& socket, const std::string& why) {
  return {ErrorCode::kUnavailable, fmt::format("local socket {}: {}", socket, why)};
}

// One that another user left is only opened: in some folders not even root may open it to make it.
Result<FileDescriptor> OpenLock(const std::string& socket, const std::string& path) {
  constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  FileDescriptor file(::open(path.c_str(), kHow));
  if (file.get() < 0 && errno == ENOENT) {
    file = FileDescriptor(::open(path.c_str(), kHow | O_CREAT, S_IRUSR | S_IWUSR));
  }
  if (file.get() >= 0) return file;
  return std::unexpected(
      CannotLock(socket, fmt::format("its lock {}: {}", path, std::strerror(errno))));
}

// Whoever had it before may have removed it, and a third process made another.
bool LiesAt(const std::string& path, int file) {
  struct stat here{};
  struct stat opened{};
  return ::stat(path.c_str(), &here) == 0 && ::fstat(file, &opened) == 0 &&
         here.st_dev == opened.st_dev && here.st_ino == opened.st_ino;
}

}  // namespace

Result<SocketLock> SocketLock::Take(const std::string& socket) {
  const std::string path = AbsoluteSocketPath(socket) + ".lock";
  for (;;) {
    TRY_ASSIGN(FileDescriptor file, OpenLock(socket, path));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      const bool taken = errno == EWOULDBLOCK;
      return std::unexpected(CannotLock(
          socket, taken ? "another node listens there, or starts to" : std::strerror(errno)));
    }
    if (LiesAt(path, file.get())) return SocketLock(path, std::move(file));
  }
}

SocketLock::~SocketLock() {
  if (file_.get() >= 0) ::unlink(path_.c_str());
}

}  // namespace hoplite::node
