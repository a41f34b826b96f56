#include "net/tcp_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/try.h"
#include "base/units.h"
#include "net/linger.h"
#include "net/tcp_round_trip.h"
#include "net/tcp_syscalls.h"

namespace hoplite::net {
namespace {

// The most that a stream moves, and that one call moves, before others on its loop have their turn.
constexpr std::size_t kTurnBytes = 256_KiB;

std::string PeerOf(const TcpSocket& socket) {
  asio::error_code ec;
  const auto endpoint = socket.remote_endpoint(ec);
  return ec ? "a peer that has gone" : ToString(endpoint);
}

std::unique_ptr<TlsSocket> TlsOf(TcpSocket& socket, Security* security, TlsSocket::Side side) {
  if (security == nullptr) return nullptr;
  return side == TlsSocket::Side::kAccepts
             ? security->Accept(socket.native_handle())
             : security->Connect(socket.native_handle(), TlsRole::kNode);
}

}  // namespace

std::string ToString(const asio::ip::tcp::endpoint& endpoint) {
  return HostPort{endpoint.address().to_string(), endpoint.port()}.ToString();
}

TcpStream::TcpStream(TcpSocket socket, asio::io_context& loop, const TcpOptions& options, Side side)
    : socket_(std::move(socket)),
      tls_(TlsOf(socket_, options.security.get(), side)),
      loop_(loop),
      peer_address_(PeerOf(socket_)),
      out_(loop, options.send_limit, asio::socket_base::wait_write),
      in_(loop, options.receive_limit, asio::socket_base::wait_read),
      sendfile_(options.sendfile),
      last_received_(Now()),
      last_sent_(last_received_) {
  asio::error_code ec;
  socket_.native_non_blocking(true, ec);
  TuneSocket(socket_.native_handle());
}

TcpStream::TcpStream(TcpSocket socket, asio::io_context& loop, TcpStream& before)
    : socket_(std::move(socket)),
      tls_(std::move(before.tls_)),
      loop_(loop),
      peer_address_(before.peer_address_),
      out_(loop, before.out_.limit, before.out_.readiness),
      in_(loop, before.in_.limit, before.in_.readiness),
      sendfile_(before.sendfile_),
      last_received_(before.last_received_),
      last_sent_(before.last_sent_) {
  asio::error_code ec;
  socket_.native_non_blocking(true, ec);
}

StreamPtr TcpStream::MoveTo(asio::io_context& loop) {
  asio::error_code ec;
  const auto protocol = socket_.local_endpoint(ec).protocol();
  if (closed_ || ec) return nullptr;
  const int descriptor = socket_.release(ec);
  if (ec) return nullptr;
  closed_ = true;
  TcpSocket socket(loop);
  socket.assign(protocol, descriptor, ec);
  if (ec) {  // nobody has the descriptor any more, and its number may soon be another's
    ::close(descriptor);
    return nullptr;
  }
  return StreamPtr(new TcpStream(std::move(socket), loop, *this));
}

Task<Result<void>> TcpStream::Send(std::span<const std::byte> head, Payload payload) {
  const auto self = shared_from_this();
  if (tls_) CO_TRY(co_await Shake());
  if (!sendfile_) payload.descriptor = -1;
  const std::size_t total = head.size() + payload.bytes.size();
  std::size_t done = 0;
  while (done < total) {
    CO_TRY_ASSIGN(const std::size_t most, co_await AwaitTurn(out_, total - done));
    const ssize_t sent = tls_ ? tls_->Send(head, payload, done, most)
                              : SendOnce(socket_.native_handle(), head, payload, done, most);
    if (sent > 0) {
      Moved(out_, static_cast<std::size_t>(sent));
      last_sent_ = Now();
      done += static_cast<std::size_t>(sent);
    } else if (sent == 0) {
      // Only a file gives nothing, when it ends before the payload does.
      co_return std::unexpected(Error(ErrorCode::kInternal, "a payload beyond its file's end"));
    } else if (errno == EAGAIN) {
      CO_TRY(co_await AwaitReady(out_));
    } else if (errno != EINTR) {
      co_return std::unexpected(Failure(errno));
    }
  }
  if (tls_) co_return co_await Flush();
  co_return Result<void>();
}

Task<Result<void>> TcpStream::SendMany(std::span<const Outgoing> pieces) {
  const auto self = shared_from_this();
  if (tls_ || sendfile_) co_return co_await Stream::SendMany(pieces);
  const std::size_t total = BytesOf(pieces);
  for (std::size_t done = 0; done < total;) {
    CO_TRY_ASSIGN(const std::size_t most, co_await AwaitTurn(out_, total - done));
    const ssize_t sent = net::SendMany(socket_.native_handle(), pieces, done, most);
    if (sent >= 0) {
      Moved(out_, static_cast<std::size_t>(sent));
      last_sent_ = Now();
      done += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      CO_TRY(co_await AwaitReady(out_));
    } else if (errno != EINTR) {
      co_return std::unexpected(Failure(errno));
    }
  }
  co_return Result<void>();
}

Task<Result<std::size_t>> TcpStream::ReceiveOn(std::span<std::byte> into,
                                               std::span<std::byte> behind) {
  const auto self = shared_from_this();
  if (tls_) CO_TRY(co_await Shake());
  while (true) {
    // A stream with nothing to read must take nothing from a limit that others share.
    const bool pays = in_.limit != nullptr && in_.allowance == 0;
    if (pays && quiet()) CO_TRY(co_await AwaitReady(in_));
    CO_TRY_ASSIGN(const std::size_t most, co_await AwaitTurn(in_, into.size() + behind.size()));
    const std::size_t first = std::min(most, into.size());
    const ssize_t received =
        tls_ ? tls_->Receive(into.first(first))
             : ReceiveOnce(socket_.native_handle(), into.first(first), behind.first(most - first));
    if (received > 0) {
      Moved(in_, static_cast<std::size_t>(received));
      last_received_ = Now();
      co_return static_cast<std::size_t>(received);
    }
    if (received == 0) {
      co_return std::unexpected(Error(ErrorCode::kUnavailable, "closed by peer " + peer_address_));
    }
    if (errno == EAGAIN) {
      CO_TRY(co_await AwaitReady(in_));
    } else if (errno != EINTR) {
      co_return std::unexpected(Failure(errno));
    }
  }
}

Duration TcpStream::round_trip() {
  return closed_ ? Duration{0} : RoundTrip(socket_.native_handle());
}

Task<Result<std::size_t>> TcpStream::AwaitTurn(Direction& direction, std::size_t wanted) {
  if (direction.turn_bytes >= kTurnBytes) {
    direction.turn_bytes = 0;
    co_await asio::post(loop_, kAwait);
  }
  if (direction.limit != nullptr && direction.allowance == 0) {
    const std::size_t piece = std::min(wanted, direction.limit->piece_bytes());
    const Time now = Now();
    const Time when = direction.limit->Take(piece, now);
    direction.allowance = piece;
    if (when > now && !closed_) {
      asio::error_code ec;
      direction.timer.expires_at(when);
      co_await direction.timer.async_wait(Into(ec));
    }
  }
  if (closed_) co_return std::unexpected(Closed());
  std::size_t most = std::min(wanted, kTurnBytes - direction.turn_bytes);
  if (direction.limit != nullptr) most = std::min(most, direction.allowance);
  co_return most;
}

Task<Result<void>> TcpStream::AwaitReady(Direction& direction) {
  asio::error_code ec;
  direction.turn_bytes = 0;
  co_await socket_.async_wait(direction.readiness, Into(ec));
  if (closed_) co_return std::unexpected(Closed());
  if (ec) co_return std::unexpected(Failure(ec.value()));
  co_return Result<void>();
}

// Several may be in here at once: what arrives wakes all of them.
Task<Result<void>> TcpStream::Shake() {
  const auto self = shared_from_this();
  while (tls_ && !tls_->established()) {
    if (closed_) co_return std::unexpected(Closed());
    const Result<bool> done = tls_->Shake();
    if (!done) co_return std::unexpected(Failure(EPROTO));
    last_received_ = Now();
    if (!*done) CO_TRY(co_await AwaitReady(in_));
  }
  co_return Result<void>();
}

void TcpStream::ShakeSoon() {
  if (tls_) asio::co_spawn(loop_, Shake(), [](const std::exception_ptr&, const Result<void>&) {});
}

// What was encrypted and not sent yet.
Task<Result<void>> TcpStream::Flush() {
  if (closed_) co_return std::unexpected(Closed());
  while (!tls_->Flush()) {
    if (errno != EAGAIN) co_return std::unexpected(Failure(errno));
    CO_TRY(co_await AwaitReady(out_));
  }
  last_sent_ = Now();
  co_return Result<void>();
}

void TcpStream::Moved(Direction& direction, std::size_t bytes) {
  direction.turn_bytes += bytes;
  if (direction.limit != nullptr) direction.allowance -= bytes;
}

void TcpStream::Close() {
  if (std::exchange(closed_, true)) return;
  asio::error_code ec;
  if (tls_) tls_->SayGoodbye();
  if (tls_ && tls_->refused()) {
    socket_.cancel(ec);
    CloseOnceHeard(loop_, std::move(socket_));
  }
  socket_.close(ec);
  out_.timer.cancel();
  in_.timer.cancel();
}

void TcpStream::Abort() {
  asio::error_code ec;
  if (closed_) return;
  socket_.set_option(asio::socket_base::linger(true, 0), ec);
  if (tls_) tls_->Forget();
  Close();
}

bool TcpStream::quiet() {
  std::byte next;
  if (closed_ || (tls_ && (tls_->unread() || tls_->Expired()))) return false;
  const ssize_t count =
      ::recv(socket_.native_handle(), &next, sizeof next, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && errno == EAGAIN;
}

Error TcpStream::Failure(int error) const {
  if (tls_ && error == EPROTO) {
    return {ErrorCode::kUnavailable, fmt::format("{}: {}", peer_address_, tls_->why())};
  }
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", peer_address_, std::strerror(error))};
}

Error TcpStream::Closed() const {
  return {ErrorCode::kCancelled, "the stream to " + peer_address_ + " was closed here"};
}

}  // namespace hoplite::net
