// HttpPort: the connections of those who ask by HTTP: who scrapes, who looks at a page.
//
// Decides: who goes when there are too many, the oldest, and that a connection goes whose request is
// not there within 5 s, or that does not take what it is sent within 10 s. Must never: have more of a
// connection in memory than one request and what is being sent. On its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/time.h"
#include "metrics/http.h"
#include "net/security.h"
#include "net/signal.h"
#include "net/stream.h"
#include "net/tcp_transport.h"

namespace hoplite::metrics {

inline constexpr std::size_t kMaxConnections = 16;

class HttpPort {
 public:
  // One request, and what it is answered.
  class Exchange;
  using ExchangePtr = std::shared_ptr<Exchange>;
  // Runs for each request; when it returns, the connection is closed.
  using Serve = std::function<net::Task<void>(ExchangePtr)>;

  //   unavailable  the address can't be listened at
  // `security`: by TLS, for those who have a node's certificate; null: plain text.
  static Result<std::unique_ptr<HttpPort>> Open(asio::io_context& loop, const std::string& listen,
                                                Serve serve, net::SecurityPtr security = nullptr);
  std::string address() const { return listener_->address(); }
  // Takes no more, and closes all connections.
  void Close();

 private:
  HttpPort(asio::io_context& loop, Serve serve, net::SecurityPtr security)
      : loop_(loop),
        transport_({&loop}, {.security = std::move(security)}),
        serve_(std::move(serve)) {}
  void Admit(net::StreamPtr stream);

  asio::io_context& loop_;
  net::TcpTransport transport_;
  const Serve serve_;
  std::unique_ptr<net::Listener> listener_;
  std::list<ExchangePtr> open_;  // the oldest first
};

// Its coroutine holds it; whoever closes it ends that.
class HttpPort::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(HttpPort& port, net::StreamPtr stream)
      : port_(port), stream_(std::move(stream)), woken_(port.loop_) {}

  void Start();
  void Close();

  // Once it is served.
  const Result<Request>& request() const { return request_; }
  bool open() const { return !closed_; }
  // False: the client has gone, or takes too long.
  net::Task<bool> Send(std::shared_ptr<const std::string> bytes);
  // Until Wake, the end of the connection, or that time.
  net::Task<void> Wait(Time deadline);
  void Wake() { woken_.Notify(); }

 private:
  static net::Task<void> Serve(ExchangePtr self);
  net::Task<bool> Hear();
  std::function<void()> Closer() {
    return [self = shared_from_this()] { self->Close(); };
  }

  HttpPort& port_;
  const net::StreamPtr stream_;
  net::Signal woken_;
  Result<Request> request_ = Request{};
  bool closed_ = false;
};

}  // namespace hoplite::metrics
