// Stream and Transport: the seam between the protocol and whatever moves the bytes. Here that is
// TCP; tests put other things in its place.
//
// A stream belongs to one loop at a time. One Send and one Receive may be under way at a time, never
// two of a kind: so no implementation needs a queue. After any error the stream is dead: close it, never
// reuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/time.h"

namespace hoplite::net {

template <typename T>
using Task = asio::awaitable<T, asio::io_context::executor_type>;

// Bytes to send; with a descriptor behind them (a memfd), an implementation may let the kernel read
// them from there. They must stay unchanged until the peer has said that it has them.
struct Payload {
  std::span<const std::byte> bytes;
  int descriptor = -1;
  std::uint64_t descriptor_offset = 0;
  // They lie in a buffer that is filled anew as soon as Send has returned; without a descriptor.
  bool passing = false;
};

// A payload and what goes before it.
struct Outgoing {
  std::span<const std::byte> head;
  Payload payload;
};

class Stream {
 public:
  virtual ~Stream() = default;

  // All of head, then all of payload.
  virtual Task<Result<void>> Send(std::span<const std::byte> head, Payload payload) = 0;
  // All of these, one behind the other, by as few calls of the system as it can.
  virtual Task<Result<void>> SendMany(std::span<const Outgoing> pieces);
  // At least one byte, at most into.size(): what has arrived. unavailable "closed by peer" when the
  // stream has ended.
  virtual Task<Result<std::size_t>> ReceiveSome(std::span<std::byte> into) = 0;
  // The same, and it may go on into what is behind `into` when that is full. Answers bytes of both.
  virtual Task<Result<std::size_t>> ReceiveOn(std::span<std::byte> into,
                                              std::span<std::byte> /*behind*/) {
    return ReceiveSome(into);
  }

  // Ends both directions at once; pending calls return `cancelled`. On the stream's loop;
  // idempotent.
  virtual void Close() = 0;
  // Close, and what was sent but has not reached the peer is discarded: for a sender whose
  // payload's memory may be used again from now on.
  virtual void Abort() { Close(); }
  virtual bool closed() const = 0;
  // The same connection on another loop, where it is used from now on; this stream is closed. On the
  // stream's loop, with no call under way. Null: it stays, or is closed where the system fails.
  virtual std::shared_ptr<Stream> MoveTo(asio::io_context& /*loop*/) { return nullptr; }
  // Open at both ends with nothing to read: an idle connection that may be used again.
  virtual bool quiet() = 0;

  virtual Time last_received() const = 0;  // when any byte last arrived: any byte counts as life
  virtual Time last_sent() const = 0;      // when any byte last found room on its way to the peer
  // The least time to the peer and back that was measured; 0: none was.
  virtual Duration round_trip() { return Duration{0}; }
  // For so long the peer's certificate is good; none: it showed none.
  virtual std::optional<Duration> peer_expires_in() const { return std::nullopt; }
  virtual const std::string& peer_address() const = 0;
  virtual asio::io_context& loop() = 0;
};

using StreamPtr = std::shared_ptr<Stream>;

// Exactly into.size() bytes.
Task<Result<void>> ReceiveAll(StreamPtr stream, std::span<std::byte> into);

class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::string address() const = 0;  // HOST:PORT with the port really bound
  virtual void Stop() = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // on_accept runs on the loop that the new stream belongs to.
  virtual Result<std::unique_ptr<Listener>> Listen(const std::string& address,
                                                   std::function<void(StreamPtr)> on_accept) = 0;
  // A stream on the calling coroutine's loop. unavailable names the address.
  virtual Task<Result<StreamPtr>> Connect(std::string address, Duration timeout) = 0;
  // `give_up` is called, on any loop, when there is no descriptor for a new stream. It should have
  // some idle streams closed; the transport then tries again. Set it before Listen and Connect.
  virtual void OnScarcity(std::function<void()> /*give_up*/) {}
};

}  // namespace hoplite::net
