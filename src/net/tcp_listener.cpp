#include "net/tcp_listener.h"

#include <atomic>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/dispatch.hpp>
#include <asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/try.h"
#include "net/tcp_syscalls.h"

namespace hoplite::net {
namespace {

// The pause between two attempts when accepting fails, for example because descriptors have run
// out.
constexpr auto kPause = std::chrono::milliseconds(50);

}  // namespace

Result<void> Bind(TcpAcceptor& acceptor, const asio::ip::tcp::endpoint& endpoint) {
  asio::error_code ec;
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) CloseOnExec(acceptor.native_handle());
  if (!ec) acceptor.set_option(TcpAcceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(TcpAcceptor::max_listen_connections, ec);
  if (!ec) return {};
  return std::unexpected(
      Error(ErrorCode::kUnavailable,
            fmt::format("cannot listen on {}: {}", ToString(endpoint), ec.message())));
}

struct TcpListener::State {
  State(std::vector<asio::io_context*> loops_in, std::shared_ptr<const TcpOptions> options_in,
        std::function<void(StreamPtr)> on_accept_in)
      : loops(std::move(loops_in)),
        options(std::move(options_in)),
        on_accept(std::move(on_accept_in)),
        acceptor(*loops.front()),
        pause(*loops.front()) {}

  static Task<void> AcceptAll(std::shared_ptr<State> state) {
    bool failing = false;  // accepting fails, and the log says so
    for (std::size_t turn = 0; !state->stopped; ++turn) {
      asio::io_context& loop = *state->loops[turn % state->loops.size()];
      asio::error_code ec;
      TcpSocket socket = co_await state->acceptor.async_accept(loop, Into(ec));
      if (!ec) {
        failing = false;
        HandOver(state, loop, std::move(socket));
      } else if (!state->stopped) {
        if (!std::exchange(failing, true)) {
          log::Warn("accepting connections at {}: {}", state->address, ec.message());
        }
        if (NoDescriptorLeft(ec) && state->options->give_up) state->options->give_up();
        state->pause.expires_after(kPause);
        co_await state->pause.async_wait(Into(ec));
      }
    }
  }

  static void HandOver(const std::shared_ptr<State>& state, asio::io_context& loop,
                       TcpSocket socket) {
    asio::post(loop, [state, &loop, socket = std::move(socket)]() mutable {
      if (state->stopped) return;
      const auto stream = std::make_shared<TcpStream>(std::move(socket), loop, *state->options,
                                                      TcpStream::Side::kAccepts);
      stream->ShakeSoon();
      state->on_accept(stream);
    });
  }

  void Close() {
    asio::error_code ec;
    acceptor.close(ec);
    pause.cancel();
  }

  const std::vector<asio::io_context*> loops;
  const std::shared_ptr<const TcpOptions> options;
  const std::function<void(StreamPtr)> on_accept;
  TcpAcceptor acceptor;
  Timer pause;
  std::string address;
  std::atomic<bool> stopped{false};
};

Result<std::unique_ptr<TcpListener>> TcpListener::Open(const asio::ip::tcp::endpoint& endpoint,
                                                       std::vector<asio::io_context*> loops,
                                                       std::shared_ptr<const TcpOptions> options,
                                                       std::function<void(StreamPtr)> on_accept) {
  auto state = std::make_shared<State>(std::move(loops), std::move(options), std::move(on_accept));
  TRY(Bind(state->acceptor, endpoint));
  state->address = ToString(state->acceptor.local_endpoint());
  asio::co_spawn(*state->loops.front(), State::AcceptAll(state), asio::detached);
  return std::unique_ptr<TcpListener>(new TcpListener(std::move(state)));
}

TcpListener::~TcpListener() { Stop(); }

std::string TcpListener::address() const { return state_->address; }

void TcpListener::Stop() {
  if (state_->stopped.exchange(true)) return;
  asio::dispatch(*state_->loops.front(), [state = state_] { state->Close(); });
}

}  // namespace hoplite::net
