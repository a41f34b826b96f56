#include "net/connection_pool.h"

#include <map>
#include <utility>
#include <vector>

#include "base/try.h"
#include "net/timer.h"

namespace hoplite::net {

struct ConnectionPool::State : std::enable_shared_from_this<State> {
  struct Idle {
    ConnectionPtr connection;
    Time since;
  };
  using Peer = std::pair<std::string, NodeId>;

  State(asio::io_context& loop, Transport& transport_in, Identity self_in, PoolOptions options_in)
      : transport(transport_in), self(self_in), options(options_in), timer(loop) {}

  // Null if no idle connection can be used; those that can't are closed.
  ConnectionPtr TakeIdle(const Peer& peer) {
    const auto found = idle.find(peer);
    while (found != idle.end() && !found->second.empty()) {
      ConnectionPtr connection = std::move(found->second.back().connection);
      found->second.pop_back();
      if (connection->stream->quiet()) return connection;
      connection->stream->Close();
    }
    return nullptr;
  }

  void CloseOlderThan(Time limit) {
    for (auto& [peer, waiting] : idle) {
      std::erase_if(waiting, [limit](const Idle& entry) {
        const bool old = entry.since < limit;
        if (old) entry.connection->stream->Close();
        return old;
      });
    }
    std::erase_if(idle, [](const auto& entry) { return entry.second.empty(); });
  }

  // The timer runs only while something is idle.
  void ArmTimer() {
    if (timer_armed || idle.empty() || stopped) return;
    timer_armed = true;
    timer.expires_after(options.idle_limit / 2);
    timer.async_wait([state = shared_from_this()](const asio::error_code& ec) {
      state->timer_armed = false;
      if (ec) return;
      state->CloseOlderThan(Now() - state->options.idle_limit);
      state->ArmTimer();
    });
  }

  Transport& transport;
  const Identity self;
  const PoolOptions options;
  std::map<Peer, std::vector<Idle>> idle;
  std::vector<StreamPtr> greeting;  // so that Stop ends handshakes too
  Timer timer;
  bool timer_armed = false;
  bool stopped = false;

  static Task<Result<ConnectionPtr>> Take(std::shared_ptr<State> state, Peer peer) {
    if (state->stopped) co_return std::unexpected(Stopped());
    if (ConnectionPtr connection = state->TakeIdle(peer)) co_return connection;
    CO_TRY_ASSIGN(StreamPtr stream,
                  co_await state->transport.Connect(peer.first, state->options.connect_timeout));
    if (state->stopped) {
      stream->Close();
      co_return std::unexpected(Stopped());
    }
    state->greeting.push_back(stream);
    auto connection =
        co_await Greet(stream, state->self, peer.second, state->options.handshake_timeout);
    std::erase(state->greeting, stream);
    if (connection) (*connection)->address = peer.first;
    co_return connection;
  }

  static Error Stopped() { return {ErrorCode::kCancelled, "the node is stopping"}; }
};

ConnectionPool::ConnectionPool(asio::io_context& loop, Transport& transport, Identity self,
                               PoolOptions options)
    : state_(std::make_shared<State>(loop, transport, self, options)) {}

ConnectionPool::~ConnectionPool() { Stop(); }

Task<Result<ConnectionPtr>> ConnectionPool::Take(std::string address, NodeId peer) {
  return State::Take(state_, State::Peer(std::move(address), peer));
}

void ConnectionPool::Return(ConnectionPtr connection) {
  const bool fit = !state_->stopped && connection->reader.at_rest() && connection->stream->quiet();
  auto& waiting = state_->idle[State::Peer(connection->address, connection->peer)];
  if (fit && waiting.size() < state_->options.idle_per_peer) {
    waiting.emplace_back(std::move(connection), Now());
  } else {
    connection->stream->Close();
  }
  state_->ArmTimer();
}

void ConnectionPool::CloseIdle() { state_->CloseOlderThan(kNever); }

void ConnectionPool::Stop() {
  state_->stopped = true;
  CloseIdle();
  for (const StreamPtr& stream : state_->greeting) stream->Close();
  state_->timer.cancel();
}

std::size_t ConnectionPool::idle_count() const {
  std::size_t count = 0;
  for (const auto& [peer, waiting] : state_->idle) count += waiting.size();
  return count;
}

}  // namespace hoplite::net
