#include "node/local_peer.h"

#include <utility>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hoplite::node {

LocalPeer::LocalPeer(asio::io_context& loop, int socket) : exit_(loop) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return;
  pid_ = credentials.pid;
  same_user_ = credentials.uid == ::geteuid();
  if (pid_ <= 0) return;
  // Debian 12's C library has no wrapper yet.
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (descriptor < 0) return;
  asio::error_code error;
  exit_.assign(descriptor, error);
  if (error) ::close(descriptor);
}

void LocalPeer::OnExit(std::function<void()> on_exit) {
  exit_.async_wait(asio::posix::stream_descriptor::wait_read,
                   [on_exit = std::move(on_exit)](asio::error_code error) {
                     if (!error) on_exit();
                   });
}

}  // namespace hoplite::node
