// TcpStream: one TCP connection on one loop. Waits for readiness, then moves large pieces by its
// own non-blocking system calls, or has a TlsSocket do that; lets others on the loop have their turn
// after a bounded number of bytes.
//
// By TLS it is of use after Shake: a transport that connects does that, an accepted stream does it by
// itself, and calls wait for it. So whoever bounds the time until a peer has said hello bounds that,
// too. A payload is encrypted from its bytes, whatever descriptor it has. The
// stream must never send or hand on a byte before it knows the peer.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <asio/ip/tcp.hpp>

#include "net/await.h"
#include "net/stream.h"
#include "net/tcp_transport.h"
#include "net/timer.h"
#include "net/tls_socket.h"

namespace hoplite::net {

using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

std::string ToString(const asio::ip::tcp::endpoint& endpoint);

class TcpStream final : public Stream, public std::enable_shared_from_this<TcpStream> {
 public:
  using Side = TlsSocket::Side;

  // A connected socket; with TLS, of or to a node.
  TcpStream(TcpSocket socket, asio::io_context& loop, const TcpOptions& options, Side side);

  // Learns who the peer is; at once if it is plain.
  Task<Result<void>> Shake();
  // The same beside what its owner does, until the stream is closed.
  void ShakeSoon();

  Task<Result<void>> Send(std::span<const std::byte> head, Payload payload) override;
  Task<Result<void>> SendMany(std::span<const Outgoing> pieces) override;
  Task<Result<std::size_t>> ReceiveSome(std::span<std::byte> into) override {
    return ReceiveOn(into, {});
  }
  Task<Result<std::size_t>> ReceiveOn(std::span<std::byte> into,
                                      std::span<std::byte> behind) override;
  void Close() override;
  void Abort() override;
  bool closed() const override { return closed_; }
  StreamPtr MoveTo(asio::io_context& loop) override;
  bool quiet() override;
  Time last_received() const override { return last_received_; }
  Time last_sent() const override { return last_sent_; }
  Duration round_trip() override;
  std::optional<Duration> peer_expires_in() const override {
    return tls_ ? tls_->peer_expires_in() : std::nullopt;
  }
  const std::string& peer_address() const override { return peer_address_; }
  asio::io_context& loop() override { return loop_; }

 private:
  // What is left of `before`, on this loop.
  TcpStream(TcpSocket socket, asio::io_context& loop, TcpStream& before);

  struct Direction {
    Direction(asio::io_context& loop, std::shared_ptr<RateLimiter> limit_in,
              asio::socket_base::wait_type readiness_in)
        : limit(std::move(limit_in)), readiness(readiness_in), timer(loop) {}

    const std::shared_ptr<RateLimiter> limit;
    const asio::socket_base::wait_type readiness;
    Timer timer;                 // for the limit
    std::size_t allowance = 0;   // taken from the limit and not moved yet
    std::size_t turn_bytes = 0;  // moved since others on the loop had their turn
  };

  // How many of `wanted` bytes may move now: waits for the turn and for the limit.
  Task<Result<std::size_t>> AwaitTurn(Direction& direction, std::size_t wanted);
  Task<Result<void>> AwaitReady(Direction& direction);
  Task<Result<void>> Flush();
  static void Moved(Direction& direction, std::size_t bytes);
  Error Failure(int error) const;
  Error Closed() const;

  TcpSocket socket_;
  std::unique_ptr<TlsSocket> tls_;  // null: plain
  asio::io_context& loop_;
  const std::string peer_address_;
  Direction out_;
  Direction in_;
  const bool sendfile_;
  Time last_received_;
  Time last_sent_;
  bool closed_ = false;
};

}  // namespace hoplite::net
