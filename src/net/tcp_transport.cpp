#include "net/tcp_transport.h"

#include <utility>

#include <asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/try.h"
#include "net/deadline.h"
#include "net/resolve.h"
#include "net/tcp_listener.h"
#include "net/tcp_stream.h"
#include "net/tcp_syscalls.h"
#include "net/timer.h"

namespace hoplite::net {
namespace {

// The pause between two attempts to get a descriptor: other loops may have to close the streams
// that are given up.
constexpr auto kScarcityPause = std::chrono::milliseconds(20);

// Waits for a descriptor until the deadline, if somebody can give one up.
Task<void> Open(TcpSocket& socket, asio::ip::tcp protocol, const TcpOptions& options, Time deadline,
                asio::error_code& ec) {
  const auto executor = co_await asio::this_coro::executor;
  Timer pause(executor.context());
  for (;;) {
    socket.open(protocol, ec);
    if (!NoDescriptorLeft(ec) || !options.give_up || Now() + kScarcityPause > deadline) co_return;
    options.give_up();
    pause.expires_after(kScarcityPause);
    asio::error_code ignored;
    co_await pause.async_wait(Into(ignored));
  }
}

Task<Result<TcpSocket>> ConnectTo(asio::ip::tcp::endpoint endpoint, Time deadline,
                                  const TcpOptions& options) {
  const auto executor = co_await asio::this_coro::executor;
  const auto socket = std::make_shared<TcpSocket>(executor.context());
  const auto give_up = [socket] {
    asio::error_code ignored;
    socket->close(ignored);
  };
  const Deadline limit(executor.context(), deadline, give_up);
  asio::error_code ec;
  co_await Open(*socket, endpoint.protocol(), options, deadline, ec);
  if (!ec) CloseOnExec(socket->native_handle());
  if (!ec) co_await socket->async_connect(endpoint, Into(ec));
  if (limit.expired()) ec = asio::error::timed_out;
  if (!ec) co_return std::move(*socket);
  co_return std::unexpected(
      Error(ErrorCode::kUnavailable,
            fmt::format("cannot connect to {}: {}", ToString(endpoint), ec.message())));
}

Task<Result<StreamPtr>> Introduce(std::shared_ptr<TcpStream> stream, Time deadline) {
  const Deadline limit(stream->loop(), deadline, [stream] { stream->Close(); });
  Result<void> known = co_await stream->Shake();
  if (known) co_return stream;
  stream->Close();
  if (!limit.expired()) co_return std::unexpected(std::move(known).error());
  co_return std::unexpected(
      Error(ErrorCode::kUnavailable,
            stream->peer_address() + " did not finish the handshake of TLS in time"));
}

Task<Result<StreamPtr>> ConnectToAny(std::string address, Time deadline,
                                     std::shared_ptr<const TcpOptions> options) {
  const auto executor = co_await asio::this_coro::executor;
  CO_TRY_ASSIGN(HostPort target, ParseHostPort(address));
  CO_TRY_ASSIGN(const Endpoints endpoints, co_await Resolve(std::move(target), deadline));
  Error last(ErrorCode::kUnavailable, "no address behind " + address);
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const Time limit = Share(Now(), deadline, endpoints.size() - i);
    auto socket = co_await ConnectTo(endpoints[i], limit, *options);
    if (socket) {
      co_return co_await Introduce(
          std::make_shared<TcpStream>(*std::move(socket), executor.context(), *options,
                                      TcpStream::Side::kConnects),
          deadline);
    }
    last = std::move(socket).error();
  }
  co_return std::unexpected(std::move(last));
}

}  // namespace

TcpTransport::TcpTransport(std::vector<asio::io_context*> loops, TcpOptions options)
    : loops_(std::move(loops)), options_(std::make_shared<TcpOptions>(std::move(options))) {
  HOPLITE_CHECK(!loops_.empty(), "a transport has a loop");
}

Result<std::unique_ptr<Listener>> TcpTransport::Listen(const std::string& address,
                                                       std::function<void(StreamPtr)> on_accept) {
  TRY_ASSIGN(const HostPort target, ParseHostPort(address));
  TRY_ASSIGN(const Endpoints endpoints, ResolveNow(target));
  return TcpListener::Open(endpoints.front(), loops_, options_, std::move(on_accept));
}

void TcpTransport::OnScarcity(std::function<void()> give_up) {
  options_->give_up = std::move(give_up);
}

Task<Result<StreamPtr>> TcpTransport::Connect(std::string address, Duration timeout) {
  return ConnectToAny(std::move(address), Now() + timeout, options_);
}

}  // namespace hoplite::net
