// Dial: opens a TCP connection to HOST:PORT, to the first of its addresses that answers. One that is
// silent keeps the next ones waiting for its share of the time (net::Share). On the loop.
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
#include "net/timer.h"

namespace hoplite::directory {

class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Done = std::function<void(Result<net::TcpSocket>)>;

  // `done` runs once, later, and never after Cancel; `next` before each address but the first. There
  // is no time limit but that of the name's look-up and of each address but the last: who waits
  // cancels.
  static std::shared_ptr<Dial> Start(asio::io_context& loop, const std::string& address, Done done,
                                     std::function<void()> next = nullptr);
  static std::shared_ptr<Dial> Start(asio::io_context& loop, net::Endpoints endpoints, Done done);
  void Cancel();

 private:
  Dial(asio::io_context& loop, Done done, std::function<void()> next)
      : loop_(loop), done_(std::move(done)), next_(std::move(next)), silence_(loop) {}
  void Resolve(const std::string& address);
  void Try(std::size_t which);
  void End(Result<net::TcpSocket> outcome);
  void FailSoon(Error why);

  asio::io_context& loop_;
  Done done_;                   // null: it ended
  std::function<void()> next_;  // may be null
  net::Endpoints endpoints_;
  std::size_t tried_ = 0;  // of the endpoints: what is heard of an earlier one is ignored
  std::optional<net::TcpSocket> socket_;
  net::Timer silence_;  // of the address that is tried, if another one follows
};

}  // namespace hoplite::directory
