#include "node/local/local_peer.h"

#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hoplite::node {
namespace {

using Descriptor = asio::posix::stream_descriptor;

bool IsReadable(Descriptor& descriptor) {
  pollfd asked{.fd = descriptor.native_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

// The reactor may wake a wait for nothing: a descriptor inherits the state of one that was closed,
// together with readiness of that one which is still queued.
void AwaitExit(const std::weak_ptr<Descriptor>& exit, std::function<void()> on_exit) {
  const auto waiting = exit.lock();
  waiting->async_wait(Descriptor::wait_read,
                      [exit, on_exit = std::move(on_exit)](asio::error_code error) mutable {
                        const auto woken = exit.lock();
                        if (error || !woken) return;
                        if (!IsReadable(*woken)) return AwaitExit(exit, std::move(on_exit));
                        on_exit();
                      });
}

}  // namespace

LocalPeer::LocalPeer(asio::io_context& loop, int socket)
    : exit_(std::make_shared<Descriptor>(loop)) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return;
  pid_ = credentials.pid;
  same_user_ = credentials.uid == ::geteuid();
  if (pid_ <= 0) return;
  // Debian 12's C library has no wrapper yet.
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  no_descriptor_left_ = descriptor < 0 && (errno == EMFILE || errno == ENFILE);
  if (descriptor < 0) return;
  asio::error_code error;
  exit_->assign(descriptor, error);
  if (error) ::close(descriptor);
}

void LocalPeer::OnExit(std::function<void()> on_exit) { AwaitExit(exit_, std::move(on_exit)); }

}  // namespace hoplite::node
