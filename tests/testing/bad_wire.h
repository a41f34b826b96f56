// A wire that flips bits: a transport around another one, that changes some of the bytes that
// arrive over connections opened here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/stream.h"

namespace hoplite::testing {

// Decides, and remembers who was connected to. Shared by the streams of all loops.
class Damage {
 public:
  // Where a connection's bytes are changed: offsets from its start. `nth` counts all connections.
  using Plan = std::function<std::vector<std::uint64_t>(const std::string& address, int nth)>;
  explicit Damage(Plan plan) : plan_(std::move(plan)) {}

  std::vector<std::uint64_t> NextConnection(const std::string& address) {
    const MutexLock lock(mutex_);
    dialled_.push_back(address);
    return plan_(address, static_cast<int>(dialled_.size()) - 1);
  }
  std::vector<std::string> dialled() const {
    const MutexLock lock(mutex_);
    return dialled_;
  }
  void Flipped() { ++flipped_; }
  int flipped() const { return flipped_; }

 private:
  const Plan plan_;
  mutable Mutex mutex_;
  std::vector<std::string> dialled_ HOPLITE_GUARDED_BY(mutex_);
  std::atomic<int> flipped_{0};
};

class BadStream final : public net::Stream {
 public:
  BadStream(net::StreamPtr inner, std::shared_ptr<Damage> damage, std::vector<std::uint64_t> flips)
      : inner_(std::move(inner)), damage_(std::move(damage)), flips_(std::move(flips)) {}

  net::Task<Result<void>> Send(std::span<const std::byte> head, net::Payload payload) override {
    co_return co_await inner_->Send(head, payload);
  }
  net::Task<Result<std::size_t>> ReceiveSome(std::span<std::byte> into) override {
    auto got = co_await inner_->ReceiveSome(into);
    if (got) Spoil(into.first(*got));
    co_return got;
  }
  void Close() override { inner_->Close(); }
  void Abort() override { inner_->Abort(); }
  bool closed() const override { return inner_->closed(); }
  bool quiet() override { return inner_->quiet(); }
  Time last_received() const override { return inner_->last_received(); }
  Time last_sent() const override { return inner_->last_sent(); }
  const std::string& peer_address() const override { return inner_->peer_address(); }
  asio::io_context& loop() override { return inner_->loop(); }

 private:
  void Spoil(std::span<std::byte> bytes) {
    for (const std::uint64_t flip : flips_) {
      if (flip < arrived_ || flip >= arrived_ + bytes.size()) continue;
      bytes[flip - arrived_] ^= std::byte{4};
      damage_->Flipped();
    }
    arrived_ += bytes.size();
  }

  const net::StreamPtr inner_;
  const std::shared_ptr<Damage> damage_;
  const std::vector<std::uint64_t> flips_;
  std::uint64_t arrived_ = 0;
};

class BadWire final : public net::Transport {
 public:
  BadWire(std::unique_ptr<net::Transport> inner, std::shared_ptr<Damage> damage)
      : inner_(std::move(inner)), damage_(std::move(damage)) {}

  Result<std::unique_ptr<net::Listener>> Listen(
      const std::string& address, std::function<void(net::StreamPtr)> on_accept) override {
    return inner_->Listen(address, std::move(on_accept));
  }
  net::Task<Result<net::StreamPtr>> Connect(std::string address, Duration timeout) override {
    auto stream = co_await inner_->Connect(address, timeout);
    if (!stream) co_return stream;
    auto flips = damage_->NextConnection(address);
    co_return std::make_shared<BadStream>(*stream, damage_, std::move(flips));
  }

 private:
  const std::unique_ptr<net::Transport> inner_;
  const std::shared_ptr<Damage> damage_;
};

}  // namespace hoplite::testing
