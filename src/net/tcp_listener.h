// TcpListener: accepts connections and hands each to the next loop in turn. No error of one accept
// ends it: it waits a little and goes on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/resolve.h"
#include "net/tcp_stream.h"

namespace hoplite::net {

using TcpAcceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;

// Binds and listens. Also for code that accepts by itself.
Result<void> Bind(TcpAcceptor& acceptor, const asio::ip::tcp::endpoint& endpoint);

class TcpListener final : public Listener {
 public:
  static Result<std::unique_ptr<TcpListener>> Open(const asio::ip::tcp::endpoint& endpoint,
                                                   std::vector<asio::io_context*> loops,
                                                   std::shared_ptr<const TcpOptions> options,
                                                   std::function<void(StreamPtr)> on_accept);
  ~TcpListener() override;

  std::string address() const override;
  void Stop() override;  // any thread

 private:
  struct State;
  explicit TcpListener(std::shared_ptr<State> state) : state_(std::move(state)) {}

  const std::shared_ptr<State> state_;  // shared with the accepting coroutine
};

}  // namespace hoplite::net
