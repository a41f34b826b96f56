// TcpTransport: streams over TCP, IPv4 and IPv6, on one or several loops, plain or by TLS. Decides
// which loop an accepted connection belongs to (in turns). Waits for readiness and moves large pieces by its own
// system calls. Thread-safe. Streams and listeners may live longer than it, but not longer than
// their loops.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "net/rate_limiter.h"
#include "net/security.h"
#include "net/stream.h"

namespace hoplite::net {

struct TcpOptions {
  std::shared_ptr<RateLimiter> send_limit;  // null: none
  std::shared_ptr<RateLimiter> receive_limit;
  // Let the kernel read large payloads from their descriptor. Spares the sender a copy, which pays
  // on a fast network card; two streams between processes of one host are 1.7 times faster without.
  bool sendfile = false;
  SecurityPtr security;           // null: bytes are plain, and nobody is recognized
  std::function<void()> give_up;  // set by OnScarcity; null: nothing can be given up
};

class TcpTransport final : public Transport {
 public:
  // Accepted connections are spread over `loops`; each is run by one thread.
  explicit TcpTransport(std::vector<asio::io_context*> loops, TcpOptions options = TcpOptions());

  // HOST:PORT; a host name is resolved at once. Stop (any thread) ends it, and so does its
  // destruction; an on_accept that is running on another loop finishes.
  Result<std::unique_ptr<Listener>> Listen(const std::string& address,
                                           std::function<void(StreamPtr)> on_accept) override;
  Task<Result<StreamPtr>> Connect(std::string address, Duration timeout) override;
  void OnScarcity(std::function<void()> give_up) override;

 private:
  const std::vector<asio::io_context*> loops_;
  const std::shared_ptr<TcpOptions> options_;
};

}  // namespace hoplite::net
