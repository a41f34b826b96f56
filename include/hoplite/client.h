// Client: how a program uses the objects, in the node's own process or in a worker process.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <hoplite/buffer.h>
#include <hoplite/channel.h>
#include <hoplite/draft.h>
#include <hoplite/drain.h>
#include <hoplite/elements.h>
#include <hoplite/export.h>
#include <hoplite/future.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/reader.h>
#include <hoplite/reduce.h>
#include <hoplite/reduction.h>
#include <hoplite/register.h>
#include <hoplite/result.h>
#include <hoplite/status.h>
#include <hoplite/subscription.h>

namespace hoplite {

// The objects of one WaitExists.
inline constexpr std::size_t kMaxWaitExists = 16384;
// The objects of one DeleteAsync, OwnAsync or WaitGone.
inline constexpr std::size_t kMaxIdsAtOnce = 16384;

// A handle: copies share one connection, which ends with the last of them and of everything that
// was made through them. All calls may come from any thread; a waiting thread sleeps.
//
// A call ends within 100 ms of its deadline, on a busy host within a second, also when a worker's
// node stands still (a client in the node's own process gives it a second). A worker's client outlives
// its node: calls under way answer `unavailable`; the next one attaches to whoever listens at the
// socket by then, within 5 s. Buffers of the old connection stay readable; its drafts, readers,
// reductions and subscriptions answer `unavailable`. A forked child can't use its parent's clients nor anything made through
// them but Buffers: calls there answer `unavailable` at once; destroying them is fine.
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

  // Empty, as one that was moved from: each call answers invalid_argument.
  Client();
  Client(const Client&);
  Client& operator=(const Client&);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Stores a copy of these bytes. When it returns, every node can get them; they stay when this
  // client is gone, until Delete, unless somebody owns them (Own).
  //   already_exists      the object exists; its bytes stay
  //   deleted             the id was deleted a short time ago, or its last owner went then
  //   not_found           nobody owns it, and PutOptions::only_if_owned was asked
  //   resource_exhausted  the node's store has no room
  Result<ObjectId> Put(std::span<const std::byte> bytes, const PutOptions& options = {});
  Result<ObjectId> Put(std::string_view bytes, const PutOptions& options = {});
  // A vector, span or array: of numbers, whose type is noted (PutOptions::dtype), or of plain structs.
  template <Elements R>
  Result<ObjectId> Put(const R& elements, const PutOptions& options = {}) {
    return Put(BytesOf(elements), Noting<std::ranges::range_value_t<R>>(options));
  }
  // One plain struct; `buffer.as<T>()` gives it back, as a span of one.
  template <Plain T>
  Result<ObjectId> Put(const T& value, const PutOptions& options = {}) {
    return Put(std::as_bytes(std::span(&value, 1)), options);
  }
  // Pieces that lie apart, as one object: one after the other, in this order.
  Result<ObjectId> Put(std::span<const std::span<const std::byte>> pieces,
                       const PutOptions& options = {});
  // The same; returns at once. The bytes stay the caller's and are read until the future is ready:
  // they must be there, and unchanged, so long. (Those of the list of pieces may go.) Cancel, and
  // destroying the future, first wait for what is just being copied, a fraction of a millisecond;
  // a put that is cancelled at the very end may have been done all the same. Large objects are
  // copied one after the other by a thread that the client has meanwhile.
  Future<ObjectId> PutAsync(std::span<const std::byte> bytes, const PutOptions& options = {});
  Future<ObjectId> PutAsync(std::span<const std::span<const std::byte>> pieces,
                            const PutOptions& options = {});
  template <Elements R>
    requires std::ranges::borrowed_range<R>
  Future<ObjectId> PutAsync(R&& elements, const PutOptions& options = {}) {
    return PutAsync(BytesOf(elements), Noting<std::ranges::range_value_t<R>>(options));
  }
  // The same of memory that it takes over: `owner` is let go, and so its deleter runs, as soon as the
  // bytes are copied. That is within the call if they are few (64 KiB), else on a thread of the
  // client, before the future is ready; of a put that is given up, at the latest when its future is
  // destroyed. The deleter must not wait.
  Future<ObjectId> PutAsync(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                            const PutOptions& options = {});
  // `PutAsync(std::move(vector))`, of a text, too.
  template <std::ranges::contiguous_range R>
    requires(!std::is_lvalue_reference_v<R> && !std::ranges::borrowed_range<R> &&
             std::is_trivially_copyable_v<std::ranges::range_value_t<R>>)
  Future<ObjectId> PutAsync(R&& taken, const PutOptions& options = {}) {
    const auto owner = std::make_shared<const R>(std::forward<R>(taken));
    return PutAsync(owner, BytesOf(*owner),
                    NotingIfStorable<std::ranges::range_value_t<R>>(options));
  }
  template <Storable T, typename Deleter>
  Future<ObjectId> PutAsync(std::unique_ptr<T[], Deleter> taken, std::size_t count,
                            const PutOptions& options = {}) {
    const auto bytes = std::as_bytes(std::span<const T>(taken.get(), count));
    return PutAsync(std::shared_ptr<const T[]>(std::move(taken)), bytes, Noting<T>(options));
  }
  // The same without the copy: room for the bytes in the node's store, to be filled in place.
  Result<Draft> Create(const ObjectId& id, std::uint64_t size_bytes,
                       const CreateOptions& options = {});

  // The same; returns at once.
  Future<Draft> CreateAsync(const ObjectId& id, std::uint64_t size_bytes,
                            const CreateOptions& options = {});

  // The object will not come: whoever waits for it, or asks for it later, is told this error; a
  // reduction of it fails and names it. What holds for a Put holds for this: the first of several
  // counts, owners, Delete. Of the message about 4,000 bytes are kept, as text.
  //   invalid_argument    the error's code is none, or its message is not UTF-8
  //   (a Put's errors)
  Result<void> Fail(const ObjectId& id, const Error& error, const FailOptions& options = {});

  // Waits until the object exists, brings it to this node and pins it.
  //   deleted             it was deleted, before or meanwhile; or CallOptions::only_if_owned was
  //                       asked, and nobody owns what does not exist
  //   resource_exhausted  it is larger than the node's store
  //   timeout             names the reason known: not created, its holders lost, …
  //   failed              whoever was to make it says so (Fail), with this or another code; or the
  //                       reduction that was to make it failed (Reduction::Wait)
  Result<Buffer> Get(const ObjectId& id, const CallOptions& options = {});
  Future<Buffer> GetAsync(const ObjectId& id, const CallOptions& options = {});  // returns at once
  // A part of the object, `client.Get(id, {.offset = 8, .size = 64})`, as Buffer::Part gives it: the
  // node fetches all of it.
  //   invalid_argument  the range is beyond the object's end
  template <std::same_as<ObjectRange> R = ObjectRange>
  Result<Buffer> Get(const ObjectId& id, const R& range, const CallOptions& options = {}) {
    return Get(id, options).and_then([&](const Buffer& whole) { return whole.Part(range); });
  }
  // All at once, under one timeout; one answer per id, in their order. Clients of different nodes
  // begin with different ones, so that an allgather does not ask one node first. The answers are
  // held until the last one is there: what has no room in the node's store beside those that are
  // there already is not waited for.
  //   resource_exhausted  (of all) they are more than NodeConfig::pins_per_client leaves this
  //                       client: at once. (Of one id) it can't lie in the store together with the
  //                       others; which ones do is the order of their coming. Get those one after the other. Or
  //                       another GetMany that came first waits for memory, too, and each has
  //                       what the other needs: drop the answers, and ask again for all.
  std::vector<Result<Buffer>> GetMany(std::span<const ObjectId> ids,
                                      const CallOptions& options = {});
  // Returns at once.
  Future<std::vector<Result<Buffer>>> GetManyAsync(std::span<const ObjectId> ids,
                                                   const CallOptions& options = {});
  // Brings the object to this client's node, and pins nothing: it stays there until its memory is
  // needed. Returns at once; destroying the future before it is ready gives it up.
  //   (a Get's errors)
  Future<void> Prefetch(const ObjectId& id, const CallOptions& options = {});
  // Into the caller's memory, copied by the calling thread while the bytes arrive; also an object
  // that is larger than the node's store, which then gets it for this call alone. Starts over if
  // the object is replaced meanwhile. Gives its size; after an error the memory's contents are
  // undefined.
  //   invalid_argument  `into` is smaller than the object: says both sizes
  Result<std::uint64_t> GetInto(const ObjectId& id, std::span<std::byte> into,
                                const CallOptions& options = {});
  // The same into numbers. The size that it gives is in bytes, too.
  template <WritableElements R>
  Result<std::uint64_t> GetInto(const ObjectId& id, R&& into, const CallOptions& options = {}) {
    return GetInto(id, std::as_writable_bytes(std::span(into)), options);
  }
  // The same; returns at once, and goes on in a thread of its own. Cancel, and destroying the future,
  // wait until nobody writes to the memory any more.
  Future<std::uint64_t> GetIntoAsync(const ObjectId& id, std::span<std::byte> into,
                                     const CallOptions& options = {});
  template <WritableElements R>
  Future<std::uint64_t> GetIntoAsync(const ObjectId& id, R&& into,
                                     const CallOptions& options = {}) {
    return GetIntoAsync(id, std::as_writable_bytes(std::span(into)), options);
  }
  // All of them at once, each into its own memory, under one timeout: one answer per id, in their
  // order, as of GetInto. They are copied as they come, so they need not lie in the node's store
  // together. Memory that belongs to two of them holds anything afterwards.
  //   invalid_argument    (of all) `into` has not one element per id
  //   resource_exhausted  (of one) NodeConfig::pins_per_client leaves this client no more
  std::vector<Result<std::uint64_t>> GetManyInto(std::span<const ObjectId> ids,
                                                 std::span<const std::span<std::byte>> into,
                                                 const CallOptions& options = {});
  // Waits until the object exists; then it can be read while it arrives.
  Result<Reader> Open(const ObjectId& id, const CallOptions& options = {});
  Future<Reader> OpenAsync(const ObjectId& id, const CallOptions& options = {});  // returns at once

  // Makes one object of several, folded element by element in a tree over the nodes that hold
  // them; returns at once. Anybody may get the target meanwhile: an allreduce is this and a Get of
  // the target by everyone. It stays, like a Put, until Delete. What can only be found out later
  // is told by Reduction::Wait, and by a Get of the target.
  //   invalid_argument  names what can't be: op and dtype that don't fit, a source that is listed
  //                     twice or is the target, none or more than kMaxReduceSources, a num_objects
  //                     that they don't have, …
  Result<Reduction> Reduce(const ReduceOptions& options);

  // Deletes it everywhere; also an id that doesn't exist (yet). Pinned bytes stay readable, and
  // another node may give its copy until it hears of the delete, a moment later. After timeout,
  // cancelled or unavailable it may be deleted all the same: delete it again.
  Result<void> Delete(const ObjectId& id, const CallOptions& options = {});
  // Many, in a few messages, as are the next ones: an error of one does not keep the others from
  // being done, and is that of the first that has one.
  Result<void> Delete(std::span<const ObjectId> ids, const CallOptions& options = {});
  // The same; returns at once, as do the other functions named Async.
  //   invalid_argument  more than kMaxIdsAtOnce ids
  Future<void> DeleteAsync(std::span<const ObjectId> ids, const CallOptions& options = {});

  // Owning. An id that ever had an owner is deleted everywhere when its last owner is gone. Owners
  // are clients: this one from the answer on, also before the object exists; owning twice is owning
  // once. Ownership is of the id: it stays when other bytes are put, or all copies are lost. It
  // ends by Disown, Delete, Close, with the last handle of this client, and 30 s
  // (DirectoryConfig::orphan_grace) after this process, or the connection, ended without those. A node
  // that is started again does not know who owned: after `unavailable`, own again.
  //
  // Hand an id over by owning it until the receiver has it: an Own that comes after the last Disown
  // answers `deleted`. After timeout, cancelled or unavailable this client does not own it.
  //   deleted             its last owner is gone, or it was deleted
  //   resource_exhausted  the clients of this node own NodeConfig::max_owned ids
  Result<void> Own(const ObjectId& id, const CallOptions& options = {});
  Result<void> Own(std::span<const ObjectId> ids, const CallOptions& options = {});
  // Returns at once.
  Future<void> OwnAsync(std::span<const ObjectId> ids, const CallOptions& options = {});
  // This client owns it no longer; also an id that it did not own. When it returns the node knows;
  // the deletion, if this was the last owner, follows at once.
  Result<void> Disown(const ObjectId& id, const CallOptions& options = {});
  Result<void> Disown(std::span<const ObjectId> ids, const CallOptions& options = {});
  // The same without an answer, for destructors and finalizers: waits for nobody, and begins no
  // thread. The node knows before it hears of any later call of this client. What this client owned
  // through a connection that has ended is as above.
  void DisownSoon(std::span<const ObjectId> ids);

  // Size, holders, owners and metadata, as the directory knows them.
  //   not_found  its directory shard does not know the object
  //   deleted    it was deleted, and its id is blocked: says for how long
  Result<ObjectInfo> Info(const ObjectId& id, const CallOptions& options = {});
  Future<ObjectInfo> InfoAsync(const ObjectId& id,
                               const CallOptions& options = {});  // returns at once
  // Of many, in a few messages: one answer per id, in their order.
  std::vector<Result<ObjectInfo>> Info(std::span<const ObjectId> ids,
                                       const CallOptions& options = {});
  // Why the object is not complete at this client's node, in words for people: what a Get, Put or
  // Reduce of it waits for here (a line), and at other nodes (a line each, as far as the directory
  // knows). Never refuses an id: of what nobody put it says that.
  //   timeout, unavailable  the node did not answer
  Result<std::string> Why(const ObjectId& id, const CallOptions& options = {});
  // Waits until `count` of the objects exist, and gives all that do by then, in their order;
  // nothing is fetched. An object exists when some node, or the directory, has all of its bytes: a
  // Get would not wait for its Put, nor for the reduction that makes it. It may be deleted, or lost
  // with its last holder, before it is asked for. At the deadline it gives those that exist, fewer
  // than `count`: that is no error. What is not at this node takes a message to its shard and back:
  // a timeout of zero, or a `count` of zero, tells only what the node knows by itself.
  //   deleted             so many were deleted, or don't exist and have no owner although
  //                       CallOptions::only_if_owned was asked, that `count` of them never come
  //   invalid_argument    more than kMaxWaitExists objects, or a `count` above their number
  //   resource_exhausted  they are more than NodeConfig::pins_per_client leaves this client
  Result<std::vector<ObjectId>> WaitExists(std::span<const ObjectId> ids, std::size_t count,
                                           const CallOptions& options = {});
  // Returns at once.
  Future<std::vector<ObjectId>> WaitExistsAsync(std::span<const ObjectId> ids, std::size_t count,
                                                const CallOptions& options = {});
  // Waits until one of the objects was deleted, or was lost with the nodes that had it or were
  // making it, and gives all that are by then, in their order. What does not exist yet is waited for,
  // but see CallOptions::only_if_owned. At the deadline it gives none: that is no error. What is lost
  // while its shard is away is not noticed, unless the object is deleted by that.
  //   invalid_argument    none, or more than kMaxIdsAtOnce ids
  //   resource_exhausted  they are more than NodeConfig::pins_per_client leaves this client
  Result<std::vector<ObjectId>> WaitGone(std::span<const ObjectId> ids,
                                         const CallOptions& options = {});
  // Who gets and loses copies of the object from now on, whether it exists or not.
  Result<Subscription> Subscribe(const ObjectId& id, const CallOptions& options = {});
  // A register by its name, which need not exist (register.h). A channel's name is one of a register.
  //   invalid_argument  the name is empty, or has more than 256 bytes
  Result<Register> OpenRegister(std::string_view name, const CallOptions& options = {});
  // A channel by its name, which need not exist (channel.h).
  //   invalid_argument  ChannelOptions::keep is 0; the name is not one of a register
  Result<Channel> OpenChannel(std::string_view name, const ChannelOptions& options = {});
  // Lists at most so many objects, the first in the order of ids; counts all. A node and its
  // directory are asked for page after page: the more objects, the longer it takes. Of a shard that
  // does not answer in its share of the time ShardStatus::away says why; if none does it is the error.
  Result<ClusterStatus> Status(const CallOptions& options = {},
                               std::uint64_t max_objects = kAllObjects);

  // Takes this client's node out of the cluster: before it is stopped it hands on what only it has.
  // From now on it takes no new object, for good: whoever puts, reduces, or gets what is not there is
  // answered `unavailable`. Puts and reductions that go on may end. Answers when no object is left
  // that only this node has, or at the timeout with those that are left: that is no error.
  Result<DrainOutcome> Drain(std::chrono::milliseconds timeout);
  Future<DrainOutcome> DrainAsync(std::chrono::milliseconds timeout);  // returns at once

  // The node that this client is attached to, or was before that ended; "" in a forked child, and
  // if it never was.
  std::string node_name() const;
  // 16 hexadecimal digits that the nodes of one cluster have in common, and no other cluster has.
  // They stay the same while a node of it lives that holds objects, also when the directory is
  // started again; new ones of a directory may change once in its first second.
  //   unavailable  the node has not reached the directory's first shard since it was started
  Result<std::string> cluster_id(const CallOptions& options = {}) const;

  // Cancels what waits, disowns all and refuses later calls; Buffers stay readable. Idempotent.
  void Close();

 private:
  friend class ClientAccess;
  struct State;
  static std::span<const std::byte> BytesOf(const auto& elements) {
    return std::as_bytes(std::span(elements));
  }
  template <Storable T>
  static PutOptions Noting(PutOptions options) {
    if (!options.dtype) options.dtype = detail::DTypeOf<T>();
    return options;
  }
  template <typename T>
  static PutOptions NotingIfStorable(const PutOptions& options) {
    if constexpr (Storable<T>) {
      return Noting<T>(options);
    } else {
      return options;
    }
  }
  explicit Client(std::shared_ptr<State> state);
  static const std::shared_ptr<State>& NoState();
  std::shared_ptr<State> state_;
};

}  // namespace hoplite
