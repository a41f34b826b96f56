#include "net/tcp_syscalls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/units.h"

namespace hoplite::net {
namespace {

constexpr std::size_t kMostVectors = 64;
// Smaller payloads aren't worth a call of their own.
constexpr std::size_t kSendfileFrom = 64_KiB;
// Unsent bytes in the kernel delay whatever we say next, keep-alives for example.
constexpr int kNotSentLowWater = 128_KiB;

// sendfile has no MSG_NOSIGNAL, and a library must not change what its process does about SIGPIPE:
// so it is blocked for the time of the call, and taken back if the call raised it.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeGuard() {
    const int error = errno;
    // The signal is taken back whatever the call answered: it may have moved some bytes before the
    // peer's end raised SIGPIPE.
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

bool FromFile(const Payload& payload) {
  return payload.descriptor >= 0 && payload.bytes.size() >= kSendfileFrom;
}

ssize_t SendFile(int socket, const Payload& payload, std::size_t skip, std::size_t most) {
  const SigpipeGuard guard;
  auto offset = static_cast<off_t>(payload.descriptor_offset + skip);
  return ::sendfile(socket, payload.descriptor, &offset,
                    std::min(most, payload.bytes.size() - skip));
}

iovec Vector(std::span<const std::byte> bytes, std::size_t skip, std::size_t most) {
  const auto rest = bytes.subspan(std::min(skip, bytes.size()));
  return {const_cast<std::byte*>(rest.data()), std::min(most, rest.size())};
}

ssize_t SendVectors(int socket, std::span<iovec> vectors) {
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = vectors.size();
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

ssize_t SendOnce(int socket, std::span<const std::byte> head, const Payload& payload,
                 std::size_t done, std::size_t most) {
  const bool from_file = FromFile(payload);
  if (from_file && done >= head.size()) return SendFile(socket, payload, done - head.size(), most);
  const iovec first = Vector(head, done, most);
  const std::size_t skip = done > head.size() ? done - head.size() : 0;
  std::array<iovec, 2> pieces{first, Vector(payload.bytes, skip, most - first.iov_len)};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = from_file ? 1 : 2;
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT | (from_file ? MSG_MORE : 0));
}

ssize_t SendMany(int socket, std::span<const Outgoing> pieces, std::size_t done, std::size_t most) {
  std::array<iovec, kMostVectors> vectors;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count = 0;
  for (const Outgoing& piece : pieces) {
    for (const std::span<const std::byte> bytes : {piece.head, piece.payload.bytes}) {
      const std::size_t skipped = std::min(done, bytes.size());
      done -= skipped;
      const iovec rest = Vector(bytes, skipped, most);
      if (rest.iov_len == 0) continue;
      vectors[count++] = rest;
      most -= rest.iov_len;
      if (count == vectors.size()) return SendVectors(socket, vectors);
    }
  }
  return SendVectors(socket, std::span(vectors).first(count));
}

std::size_t BytesOf(std::span<const Outgoing> pieces) {
  std::size_t bytes = 0;
  for (const Outgoing& piece : pieces) bytes += piece.head.size() + piece.payload.bytes.size();
  return bytes;
}

ssize_t ReceiveOnce(int socket, std::span<std::byte> first, std::span<std::byte> second) {
  if (second.empty()) return ::recv(socket, first.data(), first.size(), MSG_DONTWAIT);
  std::array<iovec, 2> vectors{{{first.data(), first.size()}, {second.data(), second.size()}}};
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = vectors.size();
  return ::recvmsg(socket, &message, MSG_DONTWAIT);
}

// Numbers are compared, since none of Asio's errors equals the standard condition.
bool NoDescriptorLeft(const std::error_code& error) {
  return error.value() == EMFILE || error.value() == ENFILE;
}

void CloseOnExec(int socket) { ::fcntl(socket, F_SETFD, FD_CLOEXEC); }

void TuneSocket(int socket) {
  CloseOnExec(socket);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kNotSentLowWater, sizeof kNotSentLowWater);
}

}  // namespace hoplite::net
