// Client: how a program uses the objects, in the node's own process or in a worker process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/buffer.h>
#include <hoplite/draft.h>
#include <hoplite/export.h>
#include <hoplite/future.h>
#include <hoplite/object_id.h>
#include <hoplite/reader.h>
#include <hoplite/reduction.h>
#include <hoplite/result.h>
#include <hoplite/status.h>
#include <hoplite/subscription.h>

namespace hoplite {

struct PutOptions {
  ObjectId id = {};           // all zero: a random one
  std::string metadata = {};  // at most 4 KiB
  std::chrono::milliseconds timeout = kForever;
};

struct CreateOptions {
  std::string metadata = {};  // at most 4 KiB
  std::chrono::milliseconds timeout = kForever;
};

struct GetOptions {
  std::chrono::milliseconds timeout = kForever;
};

// A handle: copies share one connection, which ends with the last of them and of everything that
// was made through them. All calls may come from any thread; a waiting thread sleeps.
//
// A call ends within 100 ms of its deadline, also when a worker's node stands still (a client in
// the node's own process gives it a second). A worker's client outlives its node: calls under way
// answer `unavailable`; the next one attaches to whoever listens at the socket by then, within 5 s.
// Buffers of the old connection stay readable; its drafts, readers, reductions and subscriptions
// answer `unavailable`. A forked child can't use its parent's clients nor anything made through
// them: calls there answer `unavailable` at once; destroying them is fine.
//
// A timeout of zero is now: the call takes what is at its node already and waits for nobody;
// kForever never passes.
//
// Errors that every call may answer: timeout; cancelled (the client was closed meanwhile);
// unavailable (the node or the object's directory shard can't be reached); invalid_argument.
class HOPLITE_EXPORT Client {
 public:
  // A worker process's client: attaches to the node at this Unix socket.
  //   unavailable  no node listens there
  //   protocol     the node speaks another version
  static Result<Client> Connect(const std::string& socket,
                                std::chrono::milliseconds timeout = std::chrono::seconds(5));

  Client(const Client&);
  Client& operator=(const Client&);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Stores a copy of these bytes. When it returns, every node can get them; they stay when this
  // client is gone, until Delete.
  //   already_exists      the object exists; its bytes stay
  //   deleted             the id was deleted a short time ago
  //   resource_exhausted  the node's store has no room
  Result<ObjectId> Put(std::span<const std::byte> bytes, const PutOptions& options = {});
  Result<ObjectId> Put(std::string_view bytes, const PutOptions& options = {});
  // The same without the copy: room for the bytes in the node's store, to be filled in place.
  Result<Draft> Create(const ObjectId& id, std::uint64_t size_bytes,
                       const CreateOptions& options = {});

  // Waits until the object exists, brings it to this node and pins it.
  //   deleted             it was deleted, before or meanwhile
  //   resource_exhausted  it is larger than the node's store
  //   timeout             names the reason known: not created, its holders lost, …
  Result<Buffer> Get(const ObjectId& id, const GetOptions& options = {});
  Future<Buffer> GetAsync(const ObjectId& id, const GetOptions& options = {});
  // All at once, under one timeout; one answer per id, in their order. Clients of different nodes
  // begin with different ones, so that an allgather does not ask one node first. The answers are
  // held until the last one is there: what has no room in the node's store beside those that are
  // there already is not waited for.
  //   resource_exhausted  (of one id) it can't lie in the store together with the others; which
  //                       ones do is the order of their coming. Get those one after the other. Or
  //                       another GetMany that came first waits for memory, too, and each has
  //                       what the other needs: drop the answers, and ask again for all.
  std::vector<Result<Buffer>> GetMany(std::span<const ObjectId> ids,
                                      const GetOptions& options = {});
  // Into the caller's memory, copied by the calling thread while the bytes arrive; also an object
  // that is larger than the node's store, which then gets it for this call alone. Starts over if
  // the object is replaced meanwhile. Gives its size; after an error the memory's contents are
  // undefined.
  //   invalid_argument  `into` is smaller than the object: says both sizes
  Result<std::uint64_t> GetInto(const ObjectId& id, std::span<std::byte> into,
                                const GetOptions& options = {});
  // Waits until the object exists; then it can be read while it arrives.
  Result<Reader> Open(const ObjectId& id, const GetOptions& options = {});

  // Makes one object of several, folded element by element in a tree over the nodes that hold
  // them; returns at once. Anybody may get the target meanwhile: an allreduce is this and a Get of
  // the target by everyone. It stays, like a Put, until Delete. What can only be found out later
  // is told by Reduction::Wait.
  //   invalid_argument  op and dtype don't fit, or there are more sources than kMaxReduceSources
  Result<Reduction> Reduce(const ReduceOptions& options);

  // Deletes it everywhere; also an id that doesn't exist (yet). Pinned bytes stay readable.
  Result<void> Delete(const ObjectId& id, const GetOptions& options = {});
  // not_found: no directory shard knows the object.
  Result<ObjectInfo> Info(const ObjectId& id, const GetOptions& options = {});
  // Who gets and loses copies of the object from now on.
  Result<Subscription> Subscribe(const ObjectId& id, const GetOptions& options = {});
  // Lists at most so many objects, the first in the order of ids; counts all. A node and its
  // directory are asked for page after page: the more objects, the longer it takes.
  Result<ClusterStatus> Status(const GetOptions& options = {},
                               std::uint64_t max_objects = kAllObjects);

  // Cancels what waits and refuses later calls; Buffers stay readable. Idempotent.
  void Close();

 private:
  friend class ClientAccess;
  Result<Reader> OpenUntil(const ObjectId& id, std::chrono::steady_clock::time_point deadline,
                           bool through_window);
  Future<Buffer> GetTogether(const ObjectId& id, const GetOptions& options, std::uint64_t together);
  struct State;
  explicit Client(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace hoplite
