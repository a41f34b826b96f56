// GuardedPort: the TCP port of the admin service. It stands before gRPC, which never sees the network:
// 1.51 bounds neither a header block nor connections, and aborts where descriptors run out.
//
// Decides: which connection is handed on, that is, each that begins as HTTP/2 does within 5 s, and only
// its bytes that Http2Guard allows; which one goes when there are too many: the oldest that has said
// nothing; and that a client goes that takes nothing for 10 s. Must never have more of a connection
// in memory than one piece in each direction. On its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "directory/strangers.h"
#include "net/security.h"
#include "net/stream.h"
#include "net/tcp_transport.h"

namespace hoplite::admin {

inline constexpr std::size_t kMaxConnections = 64;

class GuardedPort {
 public:
  // `serve` gets the other end of a connection, a descriptor that is its own from then on. `security`:
  // null for plain text; else gRPC gets what arrived by TLS from somebody with a node's certificate.
  //   unavailable  the address can't be listened at
  static Result<std::unique_ptr<GuardedPort>> Open(asio::io_context& loop,
                                                   const std::string& listen,
                                                   net::SecurityPtr security,
                                                   std::function<void(int)> serve);
  std::string address() const { return listener_->address(); }
  // Takes no more, and closes what was not handed on.
  void Stop();
  // Closes the others, too.
  void CloseAll();

 private:
  class Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;

  GuardedPort(asio::io_context& loop, net::SecurityPtr security, std::function<void(int)> serve)
      : loop_(loop),
        transport_({&loop}, {.security = std::move(security)}),
        serve_(std::move(serve)) {}
  void Admit(net::StreamPtr stream);
  bool MakeRoom();
  void Complain(const std::string& peer, const std::string& why) { strangers_.Log(peer, why); }

  asio::io_context& loop_;
  net::TcpTransport transport_;
  const std::function<void(int)> serve_;
  std::unique_ptr<net::Listener> listener_;
  std::list<ConnectionPtr> open_;  // the oldest first
  directory::Strangers strangers_;
};

}  // namespace hoplite::admin
