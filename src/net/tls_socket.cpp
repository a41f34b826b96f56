#include "net/tls_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/units.h"
#include "net/tls_bio.h"
#include "net/tls_context.h"
#include "net/tls_words.h"

namespace hoplite::net {
namespace {

constexpr std::size_t kRecordBytes = 16_KiB;
using Record = std::array<std::byte, kRecordBytes>;

// What the next record carries of head and payload from byte `at` on; gathers small parts in `room`.
std::span<const std::byte> NextPiece(std::span<const std::byte> head,
                                     std::span<const std::byte> payload, std::size_t at,
                                     std::size_t most, Record& room) {
  const std::size_t piece = std::min(most, kRecordBytes);
  if (at >= head.size()) return payload.subspan(at - head.size()).first(piece);
  const auto first = head.subspan(at).first(std::min(piece, head.size() - at));
  const std::size_t rest = head.size() - at + payload.size();
  if (first.size() == piece || rest > kRecordBytes) return first;
  const auto second = payload.first(piece - first.size());
  std::ranges::copy(first, room.begin());
  std::ranges::copy(second, room.begin() + static_cast<std::ptrdiff_t>(first.size()));
  return std::span<const std::byte>(room).first(piece);
}

}  // namespace

TlsSocket::TlsSocket(std::shared_ptr<const TlsContext> context, int socket, Side side, TlsRole peer)
    : context_(std::move(context)),
      socket_(socket),
      peer_(peer),
      ssl_(SSL_new(context_->ssl.get())) {
  HOPLITE_CHECK(ssl_ != nullptr, "there is memory for a connection");
  SSL_set_app_data(ssl_, this);
  BIO* bio = TlsBio::Make(*this);
  SSL_set_bio(ssl_, bio, bio);
  if (side == Side::kConnects) {
    SSL_set_connect_state(ssl_);
  } else {
    SSL_set_accept_state(ssl_);
  }
}

TlsSocket::~TlsSocket() { SSL_free(ssl_); }

TlsSocket& TlsSocket::Of(const ssl_st* ssl) {
  return *static_cast<TlsSocket*>(SSL_get_app_data(ssl));
}

Result<bool> TlsSocket::Shake() {
  if (established_) return true;
  ERR_clear_error();
  const int done = broken_ ? -1 : SSL_do_handshake(ssl_);
  if (done == 1 && !PeerIsProved()) {
    Reject(fmt::format("it has not proved that it {}",
                       context_->secret ? "knows the secret" : "has a certificate of the cluster"));
  } else if (done == 1) {
    established_ = true;
    TlsBio::Flush(*this);
    return true;
  }
  if (!broken_ && SSL_get_error(ssl_, done) == SSL_ERROR_WANT_READ) {
    TlsBio::Flush(*this);
    return false;
  }
  if (SpeaksNoTls(ERR_peek_last_error())) TellThatThisIsTls();
  Broken();
  return std::unexpected(Error(ErrorCode::kUnavailable, why_));
}

// The library can complete a handshake without a proof: it depends on settings, which this does not.
bool TlsSocket::PeerIsProved() const {
  const bool by_secret = SSL_session_reused(ssl_) == 1;  // the handshake has used its key
  if (context_->secret) return by_secret;
  return !by_secret && SSL_get0_peer_certificate(ssl_) != nullptr &&
         SSL_get_verify_result(ssl_) == X509_V_OK;
}

// The library says nothing to who does not begin with TLS. A member with plain text shows what it got.
void TlsSocket::TellThatThisIsTls() const {
  constexpr std::array<unsigned char, 7> kProtocolVersion{21, 3, 3, 0, 2, 2, 70};  // a fatal alert
  ::send(socket_, kProtocolVersion.data(), kProtocolVersion.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t TlsSocket::Send(std::span<const std::byte> head, const Payload& payload, std::size_t done,
                        std::size_t most) {
  if (!Flush()) return -1;
  Record room;  // NOLINT(cppcoreguidelines-pro-type-member-init): for bytes
  std::size_t taken = 0;
  full_ = false;
  while (taken < most && !full_) {
    const auto piece = NextPiece(head, payload.bytes, done + taken, most - taken, room);
    std::size_t written = 0;
    more_follows_ = taken + piece.size() < most;
    ERR_clear_error();
    if (SSL_write_ex(ssl_, piece.data(), piece.size(), &written) != 1) return Broken();
    taken += written;
  }
  if (staged_.empty()) staged_ = {};  // an idle connection keeps no buffers
  return static_cast<ssize_t>(taken);
}

bool TlsSocket::Flush() {
  if (TlsBio::Flush(*this)) return true;
  if (error_ != 0) {
    Broken();
  } else {
    errno = EAGAIN;
  }
  return false;
}

ssize_t TlsSocket::Receive(std::span<std::byte> into) {
  if (broken_) return Broken();
  std::size_t done = 0;
  while (done < into.size()) {
    std::size_t got = 0;
    ERR_clear_error();
    if (SSL_read_ex(ssl_, into.data() + done, into.size() - done, &got) == 1) {
      done += got;
      if (drained_ && !unread()) break;
      continue;
    }
    const int error = SSL_get_error(ssl_, 0);
    const bool ends = error == SSL_ERROR_ZERO_RETURN;
    const bool fails = !ends && error != SSL_ERROR_WANT_READ && Broken() < 0;
    if (done > 0) break;  // the next call says how it ended
    if (ends) return 0;
    if (!fails) errno = EAGAIN;
    return -1;
  }
  return static_cast<ssize_t>(done);
}

bool TlsSocket::unread() const { return SSL_has_pending(ssl_) == 1; }

void TlsSocket::SayGoodbye() {
  const bool said = (SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN) != 0;  // again, it would read
  if (!established_ || broken_ || said || !staged_.empty()) return;
  ERR_clear_error();
  more_follows_ = false;
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

std::optional<Duration> TlsSocket::peer_expires_in() const {
  const X509* certificate = SSL_get0_peer_certificate(ssl_);
  if (certificate == nullptr) return std::nullopt;
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate)) != 1) {
    return Duration{0};
  }
  // As nanoseconds a Duration has room for 292 years; some certificates never end (year 9999).
  constexpr int kFar = 36'500;
  return std::chrono::days(std::clamp(days, -kFar, kFar)) + std::chrono::seconds(seconds);
}

bool TlsSocket::Expired() const {
  const auto left = peer_expires_in();
  return left && *left <= Duration{0};
}

ssize_t TlsSocket::Broken() {
  if (!std::exchange(broken_, true) && why_.empty()) why_ = Reason();
  ERR_clear_error();
  errno = EPROTO;
  return -1;
}

std::string TlsSocket::Reason() const {
  if (error_ != 0) return std::strerror(error_);
  if (ended_ && established_) return "it was cut off: it ended without a last word";
  if (ended_) return "it closed the connection during the handshake of TLS: it may not speak it";
  return InWords(ERR_peek_last_error());
}

}  // namespace hoplite::net
