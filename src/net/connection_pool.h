// ConnectionPool: the idle connections of one loop, each ready for the next fetch from its peer.
// Decides which are kept and for how long. Must never hand out one that its peer has closed, or one
// whose last conversation isn't over. On its loop only; destroy it there, or when the loop has
// stopped.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "net/connection.h"
#include "net/handshake.h"

namespace hoplite::net {

// The accepting side waits longer for the next Fetch than a pool keeps an idle connection: so it is
// the pool that closes, and a fetch doesn't meet a connection that is just being closed.
inline constexpr Duration kPoolIdleLimit = std::chrono::seconds(30);
inline constexpr Duration kAcceptedIdleLimit = std::chrono::seconds(60);

struct PoolOptions {
  Duration connect_timeout = std::chrono::seconds(2);
  Duration handshake_timeout = kHandshakeTimeout;
  Duration idle_limit = kPoolIdleLimit;
  std::size_t idle_per_peer = 8;
};

class ConnectionPool {
 public:
  ConnectionPool(asio::io_context& loop, Transport& transport, Identity self,
                 PoolOptions options = PoolOptions());
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  // An idle connection to that node at that address, or a new one. `cancelled` after Stop.
  Task<Result<ConnectionPtr>> Take(std::string address, NodeId peer);
  // Only after a complete conversation (End was read and Done was sent); others: Close the stream.
  void Return(ConnectionPtr connection);
  void CloseIdle();
  // Closes the idle ones and ends handshakes; connections returned later are closed at once.
  void Stop();
  std::size_t idle_count() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the timer that ends idle ones
};

}  // namespace hoplite::net
