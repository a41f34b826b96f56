// Dial: opens a TCP connection to HOST:PORT, to the first of its addresses that answers. On the loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "net/resolve.h"
#include "net/tcp_stream.h"

namespace hoplite::directory {

class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Done = std::function<void(Result<net::TcpSocket>)>;

  // `done` runs once, later, and never after Cancel. There is no time limit but that of the name's
  // look-up: who waits cancels.
  static std::shared_ptr<Dial> Start(asio::io_context& loop, const std::string& address, Done done);
  void Cancel();

 private:
  Dial(asio::io_context& loop, Done done) : loop_(loop), done_(std::move(done)) {}
  void Resolve(const std::string& address);
  void Try(std::size_t which);
  void End(Result<net::TcpSocket> outcome);
  void FailSoon(Error why);

  asio::io_context& loop_;
  Done done_;  // null: it ended
  net::Endpoints endpoints_;
  std::optional<net::TcpSocket> socket_;
};

}  // namespace hoplite::directory
