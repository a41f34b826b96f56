// SimStream: one end of a simulated connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/signal.h"
#include "net/stream.h"
#include "sim/seams/sim_network.h"
#include "sim/seams/sim_transport.h"

namespace hoplite::net {

// One direction of the connection.
struct Half {
  // Bytes under way: of a frame's head, or still in the sender's memory.
  struct Piece {
    std::vector<std::byte> owned;
    std::span<const std::byte> bytes;
    std::uint64_t checksum = 0;  // when it was sent

    void Own();  // copies the bytes, so that the sender's memory may change
  };

  Half(SimNetwork& network, HostId from, HostId to)
      : wire(std::make_shared<Wire>(network, from, to)) {}

  void End();     // nothing will arrive any more
  void Refuse();  // nothing will be taken any more

  const std::shared_ptr<Wire> wire;
  std::deque<Piece> pieces;
  std::vector<std::byte> arrived;
  std::size_t read = 0;  // of what arrived
  std::size_t held = 0;  // sent and not read
  bool ended = false;
  bool refused = false;
  Time last_arrival{};
  Signal* readable = nullptr;
  Signal* writable = nullptr;
};
using HalfPtr = std::shared_ptr<Half>;

class SimStream final : public Stream, public std::enable_shared_from_this<SimStream> {
 public:
  SimStream(InternetPtr internet, asio::io_context& loop, HalfPtr in, HalfPtr out,
            std::string peer);
  ~SimStream() override;

  Task<Result<void>> Send(std::span<const std::byte> head, Payload payload) override;
  Task<Result<std::size_t>> ReceiveSome(std::span<std::byte> into) override;
  void Close() override;
  void Abort() override;
  bool closed() const override { return closed_; }
  bool quiet() override;
  Time last_received() const override { return in_->last_arrival; }
  Time last_sent() const override { return last_sent_; }
  const std::string& peer_address() const override { return peer_address_; }
  asio::io_context& loop() override { return loop_; }

  void Die(Death death);
  void Break();
  // These bytes seem to have come from the peer.
  void Pretend(std::span<const std::byte> bytes);
  bool sends_objects() const;  // bytes of them are under way

 private:
  void Push(std::span<const std::byte> bytes, bool own);
  void SayGoodbye();
  void Leave();
  Error Closed() const;
  Error Ended() const;

  const InternetPtr internet_;
  asio::io_context& loop_;
  const HalfPtr in_;
  const HalfPtr out_;
  const std::string peer_address_;
  Signal readable_;
  Signal writable_;
  Time last_sent_;
  bool closed_ = false;
};

}  // namespace hoplite::net
