// ScrapePort: the connections of those who scrape.
//
// Decides: who goes when there are too many, the oldest, and that a connection goes whose request is
// not there within 5 s, or whose answer is not taken within 10 s. Is told: the text, when somebody
// asks for it. Must never: have more of a connection in memory than one request and one answer. On its
// loop.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "net/stream.h"
#include "net/tcp_transport.h"

namespace hoplite::metrics {

inline constexpr std::size_t kMaxScrapes = 16;

class ScrapePort {
 public:
  //   unavailable  the address can't be listened at
  static Result<std::unique_ptr<ScrapePort>> Open(asio::io_context& loop, const std::string& listen,
                                                  std::function<std::string()> text);
  std::string address() const { return listener_->address(); }
  // Takes no more, and closes all connections.
  void Close();

 private:
  class Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;

  ScrapePort(asio::io_context& loop, std::function<std::string()> text)
      : loop_(loop), transport_({&loop}), text_(std::move(text)) {}
  void Admit(net::StreamPtr stream);

  asio::io_context& loop_;
  net::TcpTransport transport_;
  const std::function<std::string()> text_;
  std::unique_ptr<net::Listener> listener_;
  std::list<ConnectionPtr> open_;  // the oldest first
};

}  // namespace hoplite::metrics
