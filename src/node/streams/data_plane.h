// DataPlane: what the loops that move bytes share: the transport, a connection pool for each loop, and every
// open stream, so that Stop can end them all.
//
// Decides on which loop bytes move: those of a small object on the main loop, where every hand-over
// to another thread would cost more than they do; larger ones on the data loops, in turn.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/result.h>

#include "base/units.h"
#include "net/connection_pool.h"
#include "net/handshake.h"
#include "net/stream.h"
#include "net/timer.h"
#include "node/core/context.h"
#include "node/streams/connects.h"
#include "node/streams/flight_gate.h"
#include "node/streams/inbound_credit.h"
#include "node/streams/round_trips.h"

namespace hoplite::node {

// Accepted, and asked for nothing since then.
struct RestingStream {
  net::StreamPtr stream;
  Time since;
};

// On its way to a peer (R83). `room` counts it as long as it waits.
struct OutgoingGive {
  std::vector<std::byte> frame;
  std::shared_ptr<void> room;
};

// What moves bytes on one loop; touched only on that loop.
struct DataLoop {
  DataLoop(asio::io_context& loop_in, net::Transport& transport, net::Identity self,
           net::PoolOptions options)
      : loop(loop_in), pool(loop_in, transport, self, options) {}

  // Descriptors have run out: closes connections that rest.
  void GiveUpIdle();

  asio::io_context& loop;
  net::ConnectionPool pool;
  std::map<std::uint64_t, net::Stream*> streams;     // in the order of their opening
  std::uint64_t opened = 0;                          // numbers them
  std::list<net::StreamPtr> strangers;               // accepted, not greeted yet; the oldest first
  std::list<RestingStream> resting;                  // the longest first
  std::map<NodeId, std::deque<OutgoingGive>> gives;  // one after the other over one connection
  bool stopping = false;
};

// A stream that Stop closes; lives as long as its conversation, on the data loop.
class OpenStream {
 public:
  OpenStream(DataLoop& data_loop, net::StreamPtr stream)
      : data_loop_(data_loop), stream_(std::move(stream)), number_(data_loop.opened++) {
    data_loop_.streams.emplace(number_, stream_.get());
    if (data_loop_.stopping) stream_->Close();
  }
  ~OpenStream() { data_loop_.streams.erase(number_); }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

 private:
  DataLoop& data_loop_;
  net::StreamPtr stream_;
  const std::uint64_t number_;
};

// A peer that has not said who it is. Descriptors are few: beyond a number of such peers, the one
// that has had most time to speak is sent away for each that comes.
class Stranger {
 public:
  static constexpr std::size_t kMost = 256;  // of one loop; far above what honest peers make

  Stranger(DataLoop& data_loop, net::StreamPtr stream)
      : strangers_(data_loop.strangers), stream_(std::move(stream)) {
    strangers_.push_back(stream_);
    if (strangers_.size() <= kMost) return;
    strangers_.front()->Close();
    strangers_.pop_front();
  }
  ~Stranger() { strangers_.remove(stream_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

 private:
  std::list<net::StreamPtr>& strangers_;
  const net::StreamPtr stream_;
};

// An accepted connection that waits for its next fetch.
class Resting {
 public:
  Resting(DataLoop& data_loop, net::StreamPtr stream)
      : resting_(data_loop.resting),
        place_(resting_.insert(resting_.end(), {std::move(stream), Now()})) {}
  ~Resting() { resting_.erase(place_); }
  Resting(const Resting&) = delete;
  Resting& operator=(const Resting&) = delete;

 private:
  std::list<RestingStream>& resting_;
  const std::list<RestingStream>::iterator place_;
};

class DataPlane {
 public:
  static constexpr std::uint64_t kSmall = 1_MiB;  // as a room (R63)

  DataPlane(Context& context, std::unique_ptr<net::Transport> transport);

  // Peers may fetch from now on.
  Result<void> Listen(const std::string& address,
                      std::function<void(DataLoop&, net::StreamPtr)> on_accept);
  std::string address() const { return listener_->address(); }

  // Of an object of this size. Larger ones take the data loops in turn, so that the lanes of one object
  // and of several spread. From the main loop.
  DataLoop& LoopFor(std::uint64_t size_bytes) { return LoopAt(IndexFor(size_bytes, next_loop_++)); }
  // Likewise; all that has the same number is on the same loop. Any thread.
  std::size_t IndexFor(std::uint64_t size_bytes, std::uint64_t number) const {
    return size_bytes <= kSmall ? loops_.size() - 1 : number % (loops_.size() - 1);
  }
  DataLoop& LoopAt(std::size_t i) { return *loops_[i]; }
  std::size_t loop_count() const { return loops_.size(); }
  InboundCredit& credit() { return credit_; }
  RoundTrips& round_trips() { return round_trips_; }
  FlightGate& gate() { return gate_; }  // main loop only
  Connects& connects() { return connects_; }
  net::Identity identity() const { return identity_; }
  net::Transport& transport() { return *transport_; }

  // Descriptors have run out: connections that rest are closed soon. Any thread.
  void GiveUpIdle();
  // Closes the listener and every stream; conversations end soon after. From the main loop.
  void Stop();

 private:
  DataLoop& LoopOf(const net::StreamPtr& stream);

  const net::Identity identity_;
  std::unique_ptr<net::Transport> transport_;
  std::vector<std::unique_ptr<DataLoop>> loops_;  // the main loop's is the last
  std::unique_ptr<net::Listener> listener_;
  InboundCredit credit_;
  RoundTrips round_trips_;
  FlightGate gate_;
  Connects connects_;
  std::size_t next_loop_ = 0;  // main loop only
};

}  // namespace hoplite::node
