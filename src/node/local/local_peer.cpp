#include "node/local/local_peer.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hoplite::node {

LocalPeer::LocalPeer(asio::io_context& loop, int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return;
  pid_ = credentials.pid;
  same_user_ = credentials.uid == ::geteuid();
  if (pid_ <= 0) return;
  // Debian 12's C library has no wrapper yet.
  FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  no_descriptor_left_ = process.get() < 0 && (errno == EMFILE || errno == ENFILE);
  exit_.emplace(loop, std::move(process));
}

}  // namespace hoplite::node
