#include "admin/guarded_port.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/write.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/http2_guard.h"
#include "base/clock.h"
#include "base/try.h"
#include "base/units.h"
#include "net/await.h"
#include "net/deadline.h"

namespace hoplite::admin {
namespace {

// Until a connection has begun.
constexpr std::chrono::seconds kFirstWords(5);
// Until a client has taken a piece.
constexpr std::chrono::seconds kStalled(10);
constexpr std::size_t kPieceBytes = 16_KiB;

using Piece = std::array<std::byte, kPieceBytes>;
using LocalSocket =
    asio::basic_stream_socket<asio::local::stream_protocol, asio::io_context::executor_type>;

std::string_view TextOf(const Piece& piece, std::size_t bytes) {
  return {reinterpret_cast<const char*>(piece.data()), bytes};
}

}  // namespace

// Coroutines hold it; whoever closes it ends them.
class GuardedPort::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(GuardedPort& port, net::StreamPtr stream)
      : port_(port), stream_(std::move(stream)), inner_(port.loop_) {}

  void Start() { asio::co_spawn(port_.loop_, Listen(shared_from_this()), asio::detached); }
  void Close() {
    if (std::exchange(closed_, true)) return;
    stream_->Close();
    asio::error_code ignored;
    inner_.close(ignored);
    port_.open_.remove(shared_from_this());
  }
  // A stream's error begins with its peer's address, which the log names itself.
  void Close(const std::string& why) {
    const std::string& peer = stream_->peer_address();
    const std::string named = peer + ": ";
    if (!closed_) port_.Complain(peer, why.starts_with(named) ? why.substr(named.size()) : why);
    Close();
  }
  bool begun() const { return guard_.begun(); }

 private:
  // From the client to gRPC.
  static net::Task<void> Listen(std::shared_ptr<Connection> self) {
    const auto piece = std::make_unique<Piece>();
    const auto first = co_await self->HearFirst(*piece);
    if (!first) co_return self->Close(first.error().message);
    if (const auto made = self->HandOver(); !made) co_return self->Close(made.error().message);
    asio::co_spawn(self->port_.loop_, Answer(self), asio::detached);
    std::size_t bytes = *first;
    while (co_await self->Pass(*piece, bytes)) {
      const auto got = co_await self->Hear(*piece, 0);
      if (!got) co_return self->Close();
      bytes = *got;
    }
    // gRPC takes no more: what it has said still goes to the client.
  }

  // From gRPC to the client.
  static net::Task<void> Answer(std::shared_ptr<Connection> self) {
    const auto piece = std::make_unique<Piece>();
    for (;;) {
      asio::error_code error;
      const std::size_t bytes =
          co_await self->inner_.async_read_some(asio::buffer(*piece), net::Into(error));
      if (error) co_return self->Close();
      const net::Deadline stalled(self->port_.loop_, Now() + kStalled,
                                  [self] { self->Close("it takes nothing"); });
      const net::Payload nothing_more;
      const std::span<const std::byte> head(piece->data(), bytes);
      const auto sent = co_await self->stream_->Send(head, nothing_more);
      if (!sent) co_return self->Close();
    }
  }

  // The preface and a frame's header: gRPC costs memory for each connection that it has.
  net::Task<Result<std::size_t>> HearFirst(Piece& piece) {
    std::function<void()> give_up = [this] { Close("it has said nothing that is HTTP/2"); };
    const net::Deadline patience(port_.loop_, Now() + kFirstWords, std::move(give_up));
    std::size_t bytes = 0;
    while (!begun()) {
      CO_TRY_ASSIGN(const std::size_t some, co_await Hear(piece, bytes));
      bytes += some;
    }
    co_return bytes;
  }

  net::Task<Result<std::size_t>> Hear(Piece& piece, std::size_t begin) {
    const std::span<std::byte> room = std::span(piece).subspan(begin);
    CO_TRY_ASSIGN(const std::size_t some, co_await stream_->ReceiveSome(room));
    const std::string_view heard = TextOf(piece, begin + some);
    if (const auto sound = guard_.Take(heard.substr(begin)); !sound) {
      Close(sound.error().message);
      co_return std::unexpected(sound.error());
    }
    co_return some;
  }

  net::Task<bool> Pass(const Piece& piece, std::size_t bytes) {
    asio::error_code error;
    co_await asio::async_write(inner_, asio::buffer(piece.data(), bytes), net::Into(error));
    co_return !error;
  }

  Result<void> HandOver() {
    int ends[2];
    if (closed_ || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) {
      return std::unexpected(Error(ErrorCode::kResourceExhausted, std::strerror(errno)));
    }
    asio::error_code error;
    inner_.assign(asio::local::stream_protocol(), ends[0], error);
    if (error) {
      ::close(ends[0]);
      ::close(ends[1]);
      return std::unexpected(Error(ErrorCode::kResourceExhausted, error.message()));
    }
    port_.serve_(ends[1]);
    return {};
  }

  GuardedPort& port_;
  const net::StreamPtr stream_;
  LocalSocket inner_;
  Http2Guard guard_;
  bool closed_ = false;
};

Result<std::unique_ptr<GuardedPort>> GuardedPort::Open(asio::io_context& loop,
                                                       const std::string& listen,
                                                       net::SecurityPtr security,
                                                       std::function<void(int)> serve) {
  std::unique_ptr<GuardedPort> port(new GuardedPort(loop, std::move(security), std::move(serve)));
  TRY_ASSIGN(port->listener_, port->transport_.Listen(listen, [port = port.get()](auto stream) {
    port->Admit(std::move(stream));
  }));
  return port;
}

void GuardedPort::Stop() {
  listener_->Stop();
  for (const ConnectionPtr& connection : std::vector(open_.begin(), open_.end())) {
    if (!connection->begun()) connection->Close();
  }
}

void GuardedPort::CloseAll() {
  for (const ConnectionPtr& connection : std::vector(open_.begin(), open_.end())) {
    connection->Close();
  }
}

void GuardedPort::Admit(net::StreamPtr stream) {
  if (!MakeRoom()) {
    Complain(stream->peer_address(), "there are too many connections");
    return stream->Close();
  }
  open_.push_back(std::make_shared<Connection>(*this, std::move(stream)));
  open_.back()->Start();
}

bool GuardedPort::MakeRoom() {
  if (open_.size() < kMaxConnections) return true;
  const auto silent = std::ranges::find_if(open_, [](const auto& one) { return !one->begun(); });
  if (silent == open_.end()) return false;
  const ConnectionPtr leaving = (*silent)->shared_from_this();
  leaving->Close("others came, and it has said nothing");
  return true;
}

}  // namespace hoplite::admin
