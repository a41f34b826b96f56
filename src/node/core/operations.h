// What a client may ask of its node. The local endpoint (worker processes and in-process clients
// alike) calls these on the node's loop; the node implements them; tests of the endpoint use a
// fake.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <hoplite/drain.h>
#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "net/signal.h"
#include "net/stream.h"
#include "node/core/subscriber.h"
#include "protocol/node_action.h"
#include "protocol/register.h"
#include "protocol/views.h"
#include "store/object_store.h"

namespace hoplite::node {

class JointGets;

// A client as an owner of ids. Whatever goes on for it after its end owns nothing any more.
struct Owner {
  std::uint64_t number = 0;  // no other client of the node ever has it
  bool gone = false;
};
using OwnerPtr = std::shared_ptr<const Owner>;

// One request of one client. The endpoint owns it, may cancel it, and awaits the operation's end
// (an operation always ends: at the latest soon after `cancelled` or `deadline`).
struct Call {
  explicit Call(asio::io_context& loop) : changed(loop) {}
  Time deadline = kNever;
  bool cancelled = false;
  bool hurries = false;  // a reduction depends on it: it waits in no line (R46)
  OwnerPtr client;       // who asks; null: a part of the node
  // Of a Put or a Reduce: the client owns what is made as soon as that is accepted.
  bool owned = false;
  // Of what the client comes to own: how long it stays owned after the client died; none: for the
  // directory's orphan grace.
  std::optional<Duration> grace;
  // Of a Put: refused if nobody owns the id. Of what waits for an object: deleted, if it does not
  // exist and nobody owns it (R59).
  bool only_if_owned = false;
  net::Signal changed;
  std::shared_ptr<void> interest;  // the node's: keeps what Open started going
  // One of several Gets whose answers the caller holds all: none waits for memory that only these
  // could give back (R45).
  std::shared_ptr<JointGets> together;

  void Cancel() {
    cancelled = true;
    changed.Notify();
  }
};
using CallPtr = std::shared_ptr<Call>;

// A Put under way. Bytes are written straight into copy()->bytes(); Advance tells how far.
// Destroying an unsealed draft aborts it.
class Draft {
 public:
  virtual ~Draft() = default;
  virtual const store::CopyPtr& copy() const = 0;
  // Bytes [0, prefix) are written: others may pull them. Never shrinks. checksums: of the blocks
  // that became whole, in order, or none: then they are computed here. Any error of the creation
  // (already_exists, deleted) is told here early.
  virtual Result<void> Advance(std::uint64_t prefix_bytes,
                               std::span<const std::uint64_t> checksums) = 0;
  // Needs prefix == size. Resolves when the shard accepted the creation and the copy is final; Get
  // by anybody succeeds from then on. A second Seal is an invalid_argument.
  virtual net::Task<Result<void>> Seal(CallPtr call) = 0;
  virtual void Abort() = 0;
};

// A register that a client has open, until Close or the end of this.
class OpenRegister {
 public:
  struct Answer {
    protocol::RegisterContents entry;  // what it holds
    bool writer = false;               // whoever claimed it last has it open
    bool written = false;              // of a write: it was done
  };
  virtual ~OpenRegister() = default;
  virtual net::Task<Result<Answer>> Get(CallPtr call) = 0;
  virtual net::Task<Result<Answer>> CompareAndSet(protocol::CompareAndSet write, CallPtr call) = 0;
  // Resolves when its number is later than this; or, unless only that is waited for, when whoever
  // claimed it last is gone.
  virtual net::Task<Result<Answer>> Changed(Version after, bool only_later, CallPtr call) = 0;
  // Calls that wait, and later ones, are answered `cancelled`.
  virtual void Close() = 0;
};

// How many ids the clients of a node own together, and may.
struct OwnedIds {
  std::size_t count = 0;
  std::size_t limit = 0;
};

// In words for people.
struct Explanation {
  std::string unfinished;  // as WhyUnfinished; empty: the object is complete here
  std::string text;        // a line for this node, and one for each other node that waits for it
};

class Operations {
 public:
  virtual ~Operations() = default;

  // Resolves when memory is reserved; the announcement travels meanwhile.
  virtual net::Task<Result<std::shared_ptr<Draft>>> Create(ObjectId object,
                                                           std::uint64_t size_bytes,
                                                           std::string metadata, CallPtr call) = 0;
  // Resolves with a final copy; the pointer is the pin.
  virtual net::Task<Result<store::CopyPtr>> Get(ObjectId object, CallPtr call) = 0;
  // Resolves when the object exists and memory is reserved; the caller follows the copy as it
  // grows, and sees kVoid if it is recalled or deleted. While `call` is held uncancelled the fetch
  // goes on.
  virtual net::Task<Result<store::CopyPtr>> Open(ObjectId object, CallPtr call) = 0;
  // The same; of an object that is larger than the store it resolves with a window, for this
  // caller alone, who takes the bytes as they come.
  virtual net::Task<Result<store::CopyPtr>> OpenWindow(ObjectId object, CallPtr call) = 0;
  // Why a wait for the object that began at `since` ended at the call's deadline, or was cancelled;
  // what was missing. Its shard is asked for a moment, unless the whole wait was as short.
  virtual net::Task<Error> GaveUp(ObjectId object, CallPtr call, Time since) = 0;
  // What that says of a deadline behind the object's name.
  virtual std::string WhyUnfinished(const ObjectId& object) = 0;
  // Why the object is not complete here, whether anybody waits for it or not, with what its shard
  // knows of it, if that answers within the call's deadline, or soon.
  virtual net::Task<Explanation> Why(ObjectId object, CallPtr call) = 0;
  // Resolves when the target is final. A cancelled or timed out call gives the reduction up:
  // whoever waits for the target gets that error.
  virtual net::Task<Result<ReduceOutcome>> Reduce(ReduceOptions options, CallPtr call) = 0;
  // Resolves when the shard has the tombstone and this node dropped its copy.
  virtual net::Task<Result<void>> Delete(ObjectId object, CallPtr call) = 0;
  // The call's client owns the id, or does no longer. Own: deleted, or resource_exhausted. Disown
  // resolves when the node knows.
  virtual net::Task<Result<void>> Own(ObjectId object, CallPtr call) = 0;
  virtual net::Task<Result<void>> Disown(ObjectId object, CallPtr call) = 0;
  // A client is gone (and its Owner says so): what it owned it owns no longer, at once if it was
  // closed, else after the orphan grace. Once of each.
  enum class ClientEnd : std::uint8_t { kClosed, kDied };
  virtual void OnClientEnd(const Owner& client, ClientEnd how) = 0;
  virtual OwnedIds owned() const = 0;
  virtual std::shared_ptr<node::OpenRegister> OpenRegister(const std::string& name) = 0;
  // The node takes no new object from now on, and hands its only copies on. Resolves when that is
  // done, or with what is left at the call's deadline.
  virtual net::Task<Result<DrainOutcome>> Drain(CallPtr call) = 0;
  // not_found if no shard knows it.
  virtual net::Task<Result<protocol::ObjectView>> Info(ObjectId object, CallPtr call) = 0;
  // A page of one shard's picture. invalid_argument: there is no such shard.
  virtual net::Task<Result<protocol::StatusPage>> Status(std::size_t shard,
                                                         protocol::PageRequest page,
                                                         CallPtr call) = 0;
  virtual std::size_t shard_count() const = 0;
  virtual std::vector<std::string> directory() const = 0;  // HOST:PORT of each shard
  // on_location runs on the loop for every later location until the returned token is dropped.
  virtual std::shared_ptr<void> Subscribe(
      ObjectId object, std::function<void(const protocol::Location&)> on_location) = 0;

  // The same with the rest of what a Subscriber is told, and at once what is known already.
  // `only_if_owned`: an object that does not exist and that nobody owns is as good as deleted (R59).
  virtual std::shared_ptr<void> Watch(ObjectId object, Subscriber watcher, bool only_if_owned) = 0;
  // Of the cluster: that of the directory's first shard. 0: that was not reached yet.
  virtual std::uint64_t cluster_id() const = 0;

  // Runs a task of the endpoint on the loop; the node's stop waits for its end.
  virtual void Spawn(const char* what, net::Task<void> task) = 0;
  // A client let go of a copy: what waits for memory may look again.
  virtual void OnUnpin() = 0;
  // Descriptors have run out: connections to peers that rest are closed soon.
  virtual void GiveUpIdle() = 0;

  virtual store::ObjectStore& store() = 0;
  virtual asio::io_context& loop() = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace hoplite::node
