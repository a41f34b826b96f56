// A stream whose other end has said all it will ever say. The bytes arrive in pieces of a given
// size, after some pieces as fast as they are taken, and then the stream ends. Between two pieces
// everybody else on the loop has a turn.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <asio/post.hpp>

#include "base/clock.h"
#include "net/await.h"
#include "net/stream.h"

namespace hoplite::fuzz {

class ScriptStream final : public net::Stream, public std::enable_shared_from_this<ScriptStream> {
 public:
  using OnSent = std::function<void(std::span<const std::byte> head, const net::Payload& payload)>;

  // `on_sent` is told of everything that is sent to the other end.
  ScriptStream(asio::io_context& loop, std::vector<std::byte> script, std::size_t piece,
               OnSent on_sent)
      : loop_(loop), script_(std::move(script)), piece_(piece), on_sent_(std::move(on_sent)) {}

  net::Task<Result<void>> Send(std::span<const std::byte> head, net::Payload payload) override {
    const auto self = shared_from_this();
    co_await asio::post(loop_, net::kAwait);
    if (closed_) co_return std::unexpected(Error(ErrorCode::kCancelled, "closed here"));
    on_sent_(head, payload);
    co_return Result<void>();
  }

  net::Task<Result<std::size_t>> ReceiveSome(std::span<std::byte> into) override {
    constexpr int kTurnsBeforeTheEnd = 20;  // so that the last request is answered
    const auto self = shared_from_this();
    const int turns = at_ < script_.size() ? 1 : kTurnsBeforeTheEnd;
    for (int i = 0; i < turns && !closed_; ++i) co_await asio::post(loop_, net::kAwait);
    if (closed_) co_return std::unexpected(Error(ErrorCode::kCancelled, "closed here"));
    const std::size_t piece = pieces_++ < kMostPieces ? piece_ : script_.size();
    const std::size_t count = std::min({into.size(), piece, script_.size() - at_});
    if (count == 0) co_return std::unexpected(Error(ErrorCode::kUnavailable, "closed by peer"));
    std::copy_n(script_.begin() + static_cast<std::ptrdiff_t>(at_), count, into.begin());
    at_ += count;
    co_return count;
  }

  void Close() override { closed_ = true; }
  bool closed() const override { return closed_; }
  bool quiet() override { return false; }  // no pool keeps it
  Time last_received() const override { return born_; }
  Time last_sent() const override { return born_; }
  const std::string& peer_address() const override { return name_; }
  asio::io_context& loop() override { return loop_; }

 private:
  static constexpr std::size_t kMostPieces = 64;  // an input's time is the turns of its loop

  asio::io_context& loop_;
  const std::vector<std::byte> script_;
  const std::size_t piece_;
  const OnSent on_sent_;
  const std::string name_ = "the script";
  const Time born_ = Now();
  std::size_t at_ = 0;
  std::size_t pieces_ = 0;
  bool closed_ = false;
};

}  // namespace hoplite::fuzz
