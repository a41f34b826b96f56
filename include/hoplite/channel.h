// Channel: one publishes versions of a value, such as the weights of a model, and everybody has the
// newest. Of a part that did not change nothing is sent again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/buffer.h>
#include <hoplite/elements.h>
#include <hoplite/export.h>
#include <hoplite/future.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

// A part of a value: a tensor, or anything else that has a name.
struct Part {
  std::string name;                  // UTF-8; no other part of the version has it
  std::span<const std::byte> bytes;  // of a Snapshot's: from a multiple of 64 bytes on
  // Of its elements, as NumPy and PyTorch call it: "float32". Empty: it has none.
  std::string dtype = {};
  std::vector<std::uint64_t> shape = {};  // in elements; those of the last dimension lie together
  std::string metadata = {};              // what its publisher says besides

  // The bytes as numbers.
  //   invalid_argument  they are no whole numbers of that type
  template <Storable T>
  Result<std::span<const T>> as() const {
    return ElementsOf<T>(bytes);
  }
};

// Of an OpenChannel.
struct ChannelOptions {
  // So many versions a publisher keeps; at least 1. From 2 on the oldest stays while somebody fetches
  // it, in place of the next: so a reader gets one that is slower than versions come.
  std::uint32_t keep = 2;
  // This becomes the publisher now, and whoever was so before can't publish any more. What that one
  // published stays until this one publishes.
  bool take_over = false;
  // Of a part of which few elements changed a publisher sends these alone. It keeps the last version
  // in memory of its own for that; a reader puts such parts together in memory of its own, and one
  // that comes late gets up to half as much again.
  bool deltas = false;
  std::chrono::milliseconds timeout = kForever;  // how long the call may take
};

// Of a Publish.
struct PublishOptions {
  // Above this publisher's last one; none: one more.
  std::optional<std::uint64_t> version = {};
  std::string metadata = {};                     // of the value as a whole
  std::chrono::milliseconds timeout = kForever;  // how long the call may take
  std::stop_token stop = {};                     // as in CallOptions
};

// Which version is waited for.
struct VersionOptions {
  std::uint64_t at_least = 0;                    // the newest one from this number on
  std::optional<std::uint64_t> exactly = {};     // this one
  std::optional<ObjectId> after = {};            // one that was published after that of this id
  bool wait_for_successor = false;               // when the publisher is gone another may come
  std::chrono::milliseconds timeout = kForever;  // how long the call may take
  std::stop_token stop = {};                     // as in CallOptions
};

// A version of a channel's value, all of it. It pins the objects that the parts lie in, as a Buffer
// does; parts that were put together of patches lie in memory of its own. Cheap to copy.
class HOPLITE_EXPORT Snapshot {
 public:
  using EndsItsViews = void;    // Result: no -> of a temporary
  Snapshot();                   // empty: no version, no parts
  const ObjectId& id() const&;  // of its newest object: no other version has it
  ObjectId id() const&& { return id(); }
  std::uint64_t version() const;         // the number that its publisher gave it
  std::span<const Part> parts() const&;  // in the order of the Publish
  std::span<const Part> parts() const&& = delete;
  // Null: it has no part of this name.
  const Part* Find(std::string_view name) const&;
  const Part* Find(std::string_view name) const&& = delete;
  const std::string& metadata() const&;  // of PublishOptions
  std::string metadata() const&& { return metadata(); }
  std::span<const Buffer> objects() const&;  // what the parts lie in, the newest first
  std::span<const Buffer> objects() const&& = delete;

 private:
  friend class ClientAccess;
  struct Contents;
  explicit Snapshot(std::shared_ptr<const Contents> contents);
  std::shared_ptr<const Contents> contents_;
};

// The parts of a version one after the other, while they arrive.
class HOPLITE_EXPORT SnapshotStream {
 public:
  using EndsItsViews = void;  // Result: no -> of a temporary
  SnapshotStream();           // empty: Next answers invalid_argument
  SnapshotStream(SnapshotStream&&) noexcept;
  SnapshotStream& operator=(SnapshotStream&&) noexcept;
  ~SnapshotStream();

  std::uint64_t version() const;         // as of a Snapshot, as are the next
  const std::string& metadata() const&;  // of PublishOptions
  std::string metadata() const&& { return metadata(); }
  // The next part, whose bytes stay while this lives; null: that was all. After an error (the
  // version is gone: `deleted`) what it gave before is part of no whole version.
  Result<const Part*> Next(std::chrono::milliseconds timeout = kForever) &;
  Result<const Part*> Next(std::chrono::milliseconds timeout = kForever) && = delete;

 private:
  friend class Channel;
  struct Impl;
  explicit SnapshotStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A channel that is open here, to publish or to read (Client::OpenChannel). A version lives while
// its publisher has the channel open and keeps it (ChannelOptions::keep); 30 s more if
// the publisher's process died. Closed when destroyed: what it published goes. Any thread; a waiting
// thread sleeps.
//
// Errors that every call may answer: timeout; cancelled (it was closed meanwhile); unavailable (the
// connection to the node ended, and the channel is closed: open it again); invalid_argument (a
// register of this name holds no channel).
class HOPLITE_EXPORT Channel {
 public:
  Channel();  // empty: each call answers invalid_argument
  Channel(Channel&&) noexcept;
  Channel& operator=(Channel&&) noexcept;
  ~Channel();

  // Makes these parts the newest version, and gives its number. The bytes are copied, as by
  // Client::Put; of a part of 64 KiB and more that is equal to the last version's part of its name,
  // the last one's bytes serve, if they are still there. The first Publish makes this the channel's
  // publisher. After a timeout the version may be published all the same; the next Publish finds out
  // before it puts anything, and else what was put goes then, or with Close.
  //   conflict          the channel has another publisher, or got one meanwhile: this is none any more
  //   invalid_argument  the version does not grow; two parts have one name, or one has none in UTF-8
  //   (a Put's errors)
  Result<std::uint64_t> Publish(std::span<const Part> parts, const PublishOptions& options = {});

  // The same; returns at once, and goes on in a thread of its own. The bytes must be there, and
  // unchanged, until the future is ready; Cancel, and destroying the future, wait until nobody reads
  // them any more.
  Future<std::uint64_t> PublishAsync(std::span<const Part> parts,
                                     const PublishOptions& options = {});

  // The newest version's number; none: nobody has published yet.
  Result<std::optional<std::uint64_t>> Latest(const CallOptions& options = {}) const;
  // The newest version, as far as it is wanted: all of one, or an error. Who follows a channel asks
  // for the one `after` the last; what came between is skipped.
  //   publisher_gone  it is not there, and the publisher is gone
  //   not_found       `exactly` was asked for, and the newest is a later one
  //   resource_exhausted  the node's store is smaller than the version: Stream reads it
  Result<Snapshot> Get(const VersionOptions& options = {}) const;
  // Returns at once.
  Future<Snapshot> GetAsync(const VersionOptions& options = {}) const;
  // As Get, but what it gives can be read part by part while it arrives; also at a node whose store is
  // smaller than the version, then in memory of this process.
  Result<SnapshotStream> Stream(const VersionOptions& options = {}) const;

  // It publishes and reads no more: what waits is cancelled, and what it published goes. Idempotent.
  void Close();

 private:
  friend class Client;
  struct State;
  explicit Channel(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace hoplite
