#include "net/tls_bio.h"

#include <cerrno>

#include <sys/socket.h>

#include "base/check.h"
#include "base/units.h"

namespace hoplite::net {
namespace {

// Of a peer that has not proved who it is.
constexpr std::size_t kMostBeforeProof = 64_KiB;
// Answers to a peer that asks for new keys again and again and reads nothing.
constexpr std::size_t kMostStaged = 128_KiB;
// So many go to the kernel at once: each call wakes the peer.
constexpr std::size_t kBatchBytes = 64_KiB;

TlsSocket& Of(BIO* bio) { return *static_cast<TlsSocket*>(BIO_get_data(bio)); }

const BIO_METHOD* Method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "hoplite socket");
    HOPLITE_CHECK(made != nullptr, "the TLS library starts");
    BIO_meth_set_write(made, TlsBio::Write);
    BIO_meth_set_read(made, TlsBio::Read);
    BIO_meth_set_ctrl(made, TlsBio::Control);
    return made;
  }();
  return method;
}

// Bytes that the kernel took: none where it has no room.
ssize_t Send(int socket, const char* bytes, std::size_t count) {
  for (;;) {
    const ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || errno != EINTR) return sent < 0 && errno == EAGAIN ? 0 : sent;
  }
}

}  // namespace

BIO* TlsBio::Make(TlsSocket& socket) {
  BIO* bio = BIO_new(Method());
  HOPLITE_CHECK(bio != nullptr, "there is memory for a connection");
  BIO_set_data(bio, &socket);
  BIO_set_init(bio, 1);
  return bio;
}

bool TlsBio::Flush(TlsSocket& socket) {
  if (socket.staged_.empty()) return true;
  const ssize_t sent = Send(socket.socket_, socket.staged_.data(), socket.staged_.size());
  if (sent < 0) {
    socket.error_ = errno;
    return false;
  }
  socket.staged_.erase(0, static_cast<std::size_t>(sent));
  socket.full_ = !socket.staged_.empty();
  return socket.staged_.empty();
}

int TlsBio::Write(BIO* bio, const char* bytes, int count) {
  TlsSocket& socket = Of(bio);
  const auto size = static_cast<std::size_t>(count);
  if (socket.staged_.size() + size > kMostStaged) {
    socket.error_ = ENOBUFS;
    return -1;
  }
  socket.staged_.append(bytes, size);
  const bool waits = socket.more_follows_ && socket.staged_.size() < kBatchBytes;
  if (waits || Flush(socket)) return count;
  return socket.error_ == 0 ? count : -1;
}

int TlsBio::Read(BIO* bio, char* bytes, int count) {
  TlsSocket& socket = Of(bio);
  BIO_clear_retry_flags(bio);
  ssize_t got = -1;
  do {
    got = ::recv(socket.socket_, bytes, static_cast<std::size_t>(count), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  socket.drained_ = got < count;
  if (got < 0 && errno == EAGAIN) {
    BIO_set_retry_read(bio);
    return -1;
  }
  if (got < 0) socket.error_ = errno;
  if (got == 0) socket.ended_ = true;
  if (got > 0 && !socket.established_) {
    socket.received_ += static_cast<std::size_t>(got);
    if (socket.received_ > kMostBeforeProof) {
      socket.Reject("it says more than a handshake has");
      return -1;
    }
  }
  return static_cast<int>(got);
}

long TlsBio::Control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) return Of(bio).ended_ ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace hoplite::net
