#include "node/streams/data_plane.h"

#include <asio/post.hpp>

#include "base/check.h"
#include "base/divide.h"

namespace hoplite::node {
namespace {

// The peer's pool may be about to use one that came to rest just now: it would meet the closing.
constexpr Duration kRestsAtLeast = std::chrono::seconds(1);

}  // namespace

void DataLoop::GiveUpIdle() {
  pool.CloseIdle();
  const Time limit = Now() - kRestsAtLeast;
  std::vector<net::StreamPtr> given_up;
  for (const auto& [stream, since] : resting) {
    if (since <= limit) given_up.push_back(stream);
  }
  for (const net::StreamPtr& stream : given_up) stream->Close();
}

DataPlane::DataPlane(Context& context, std::unique_ptr<net::Transport> transport)
    : identity_{context.settings.cluster_id, context.settings.self},
      transport_(std::move(transport)),
      round_trips_(context.settings.stall),
      gate_(context.settings.max_fetches) {
  // A peer that doesn't answer a connect or a handshake is as silent as one that stalls later.
  net::PoolOptions options;
  options.connect_timeout = context.settings.stall;
  options.handshake_timeout = context.settings.stall;
  // Whoever fetches many objects of one peer finds all the connections of the time before.
  const auto add = [&](asio::io_context& loop, std::size_t idle_per_peer) {
    options.idle_per_peer = idle_per_peer;
    loops_.push_back(std::make_unique<DataLoop>(loop, *transport_, identity_, options));
  };
  const std::size_t fetches = context.settings.max_fetches;
  const std::vector<asio::io_context*> loops = context.runtime.data_loops();
  for (asio::io_context* loop : loops) add(*loop, DivideUp(fetches, loops.size()));
  add(context.runtime.main(), fetches);
  transport_->OnScarcity([this] { GiveUpIdle(); });
}

void DataPlane::GiveUpIdle() {
  for (const auto& data_loop : loops_) {
    asio::post(data_loop->loop, [&data = *data_loop] { data.GiveUpIdle(); });
  }
}

Result<void> DataPlane::Listen(const std::string& address,
                               std::function<void(DataLoop&, net::StreamPtr)> on_accept) {
  auto listener =
      transport_->Listen(address, [this, on_accept = std::move(on_accept)](net::StreamPtr stream) {
        on_accept(LoopOf(stream), stream);
      });
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  return {};
}

DataLoop& DataPlane::LoopOf(const net::StreamPtr& stream) {
  for (const auto& data_loop : loops_) {
    if (&data_loop->loop == &stream->loop()) return *data_loop;
  }
  HOPLITE_CHECK(false, "a stream belongs to one of the node's data loops");
  std::abort();
}

void DataPlane::Stop() {
  if (listener_) listener_->Stop();
  for (const auto& data_loop : loops_) {
    asio::post(data_loop->loop, [&data = *data_loop] {
      data.stopping = true;
      data.pool.Stop();
      for (const auto& [number, stream] : data.streams) stream->Close();
    });
  }
}

}  // namespace hoplite::node
