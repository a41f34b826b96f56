#include "sim/seams/pipe_transport.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <asio/post.hpp>

#include "base/units.h"
#include "net/signal.h"
#include "net/timer.h"

namespace hoplite::net {
namespace {

// As much as a socket would hold.
constexpr std::size_t kBufferBytes = 256_KiB;

// One direction. `changed` wakes its one receiver, `drained` its one sender.
struct Channel {
  explicit Channel(asio::io_context& loop) : changed(loop), drained(loop) {}

  void End() {
    ended = true;
    changed.Notify();
    drained.Notify();
  }

  std::deque<std::byte> bytes;
  bool ended = false;
  Signal changed;
  Signal drained;
};
using ChannelPtr = std::shared_ptr<Channel>;

class PipeStream final : public Stream, public std::enable_shared_from_this<PipeStream> {
 public:
  PipeStream(asio::io_context& loop, ChannelPtr in, ChannelPtr out, std::string peer_address)
      : loop_(loop), in_(std::move(in)), out_(std::move(out)), peer_address_(peer_address) {}
  ~PipeStream() override { Close(); }

  Task<Result<void>> Send(std::span<const std::byte> head, Payload payload) override {
    const auto self = shared_from_this();
    for (std::span<const std::byte> rest : {head, payload.bytes}) {
      while (!rest.empty()) {
        if (closed_) co_return std::unexpected(Closed());
        if (out_->ended) co_return std::unexpected(Ended());
        const std::size_t count = std::min(rest.size(), kBufferBytes - out_->bytes.size());
        if (count == 0) {
          co_await out_->drained.Wait();
          continue;
        }
        const auto piece = rest.first(count);
        out_->bytes.insert(out_->bytes.end(), piece.begin(), piece.end());
        out_->changed.Notify();
        last_sent_ = Now();
        rest = rest.subspan(count);
      }
    }
    co_return Result<void>();
  }

  Task<Result<std::size_t>> ReceiveSome(std::span<std::byte> into) override {
    const auto self = shared_from_this();
    while (!closed_ && in_->bytes.empty() && !in_->ended) co_await in_->changed.Wait();
    if (closed_) co_return std::unexpected(Closed());
    if (in_->bytes.empty()) co_return std::unexpected(Ended());
    const std::size_t count = std::min(into.size(), in_->bytes.size());
    const auto end = in_->bytes.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(in_->bytes.begin(), end, into.begin());
    in_->bytes.erase(in_->bytes.begin(), end);
    in_->drained.Notify();
    last_received_ = Now();
    co_return count;
  }

  void Close() override {
    if (std::exchange(closed_, true)) return;
    in_->End();
    out_->End();
  }
  bool closed() const override { return closed_; }
  bool quiet() override { return !closed_ && !in_->ended && in_->bytes.empty(); }
  Time last_received() const override { return last_received_; }
  Time last_sent() const override { return last_sent_; }
  const std::string& peer_address() const override { return peer_address_; }
  asio::io_context& loop() override { return loop_; }

 private:
  Error Closed() const {
    return {ErrorCode::kCancelled, "the stream to " + peer_address_ + " was closed here"};
  }
  Error Ended() const { return {ErrorCode::kUnavailable, "closed by peer " + peer_address_}; }

  asio::io_context& loop_;
  const ChannelPtr in_;
  const ChannelPtr out_;
  const std::string peer_address_;
  Time last_received_ = Now();
  Time last_sent_ = last_received_;
  bool closed_ = false;
};

using OnAccept = std::function<void(StreamPtr)>;

}  // namespace

struct PipeTransport::State {
  explicit State(asio::io_context& loop_in) : loop(loop_in) {}
  asio::io_context& loop;
  std::map<std::string, std::shared_ptr<OnAccept>> listeners;
  int next_number = 1;
  int next_client = 1;
};

namespace {

class PipeListener final : public Listener {
 public:
  PipeListener(std::string address, std::function<void()> stop)
      : address_(std::move(address)), stop_(std::move(stop)) {}
  ~PipeListener() override { Stop(); }
  std::string address() const override { return address_; }
  void Stop() override {
    std::exchange(stop_, [] {})();
  }

 private:
  const std::string address_;
  std::function<void()> stop_;
};

}  // namespace

PipeTransport::PipeTransport(asio::io_context& loop) : state_(std::make_shared<State>(loop)) {}
PipeTransport::~PipeTransport() = default;

Result<std::unique_ptr<Listener>> PipeTransport::Listen(const std::string& address,
                                                        OnAccept on_accept) {
  std::string bound = address;
  if (bound.ends_with(":0")) {
    bound.pop_back();
    bound += std::to_string(state_->next_number++);
  }
  const auto shared = std::make_shared<OnAccept>(std::move(on_accept));
  if (!state_->listeners.emplace(bound, shared).second) {
    return std::unexpected(
        Error(ErrorCode::kUnavailable, "cannot listen on " + bound + ": it is in use"));
  }
  return std::make_unique<PipeListener>(bound,
                                        [state = state_, bound] { state->listeners.erase(bound); });
}

Task<Result<StreamPtr>> PipeTransport::Connect(std::string address, Duration) {
  const auto state = state_;
  const auto found = state->listeners.find(address);
  if (found == state->listeners.end()) {
    co_return std::unexpected(
        Error(ErrorCode::kUnavailable, "cannot connect to " + address + ": nobody listens there"));
  }
  const auto there = std::make_shared<Channel>(state->loop);
  const auto back = std::make_shared<Channel>(state->loop);
  const std::string client = "pipe:client-" + std::to_string(state->next_client++);
  const auto accept = [state, listener = std::weak_ptr(found->second), there, back, client] {
    const auto on_accept = listener.lock();
    if (on_accept == nullptr) return there->End(), back->End();
    (*on_accept)(std::make_shared<PipeStream>(state->loop, there, back, client));
  };
  asio::post(state->loop, accept);
  co_return std::make_shared<PipeStream>(state->loop, back, there, address);
}

}  // namespace hoplite::net
