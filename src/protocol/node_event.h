// What a node says to a directory shard, about itself: each NodeEvent is one message of its
// session. The numbered rules are those of docs/protocol.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/process_use.h"
#include "base/time.h"
#include "protocol/reduce_event.h"
#include "protocol/register.h"

namespace hoplite::protocol {

// Shared, so that copying a planner's state (exhaustive search does) copies no object bytes.
using InlineBytes = std::shared_ptr<const std::string>;

// A producer announces an object before its bytes are there. Answer: CreateAccepted or
// CreateRefused, later while a suspended holder is in its grace or the shard collects. At most one
// per (node, object) is open.
struct Create {
  ObjectId object;
  Layout layout;
  std::string metadata;
  InlineBytes inline_bytes;   // null, or all bytes: then the copy is complete at once
  std::uint64_t attempt = 0;  // the node's own number of it, for Withdraw
  // Of owned objects (R50-R57):
  bool owned = false;          // the node owns the id from the answer on, if it is CreateAccepted
  bool only_if_owned = false;  // refused, not_found, if nobody owns the id
  std::uint64_t number = 0;    // as in Owner; 0 unless `owned`
  std::optional<Duration> grace = {};  // as in Owner
};

// The node gave up a Create that was not answered (R47): the shard forgets it, or the version that
// it became. Answer, after everything else about that Create: CreateRefused, cancelled. Repeated in
// an inventory.
struct Withdraw {
  ObjectId object;
  std::uint64_t attempt = 0;
};

// "My copy of this version is complete": a fact, whatever the age of any grant (producer or
// receiver).
struct CopyComplete {
  ObjectId object;
  Version version;
};

// The node no longer has this copy (or never finished producing it).
enum class GoneReason : std::uint8_t { kAborted = 1, kDropped = 2, kRecalled = 3 };
struct CopyGone {
  ObjectId object;
  Version version;
  GoneReason reason = GoneReason::kDropped;
};

// Whether the bytes of the node's complete copy lie on its disk only (R124).
struct CopyMoved {
  ObjectId object;
  Version version;
  bool on_disk = false;
};

// "Where is it?" Parked until the object exists. Answer: Located, InlineObject or Deleted. At most
// one per (node, object) is open; one that is said again replaces it.
struct Locate {
  ObjectId object;
  // Not 0: clients of the node take it for granted that somebody owns the id (R59). If nobody does
  // they are answered Unowned, with this number, and the request stays open. Numbers of a node only
  // grow; the request is said again with a later one.
  std::uint64_t expects = 0;
  // Memory that the node holds for the object while it asks; 0: none. If the object fits, this is
  // its Want, too (R63).
  std::uint64_t room = 0;
  // The request's own, which answers name that could be taken for the next one's (R63, R69).
  std::uint64_t number = 0;
  bool joint = false;  // as in Want
};
struct CancelLocate {
  ObjectId object;
};

// Memory is reserved: grant me the stripes that I still miss. Only a node that sent Want is
// granted, and it is listed as a partial holder from the grant on. Answer: grants (until every
// stripe is done), or Recall if the version is no longer current, or Deleted.
struct Want {
  ObjectId object;
  Version version;
  StripeMarks marks;
  bool leaf = false;   // it keeps nothing of what it gets: nobody is ever sent to it (R38)
  bool joint = false;  // the node fetches other objects, too: it matters who passes this on
};
// The last local waiter went away (cancel, deadline): forget the want and list the copy no longer.
// The node closes its open grants as kAbandoned by itself.
struct CancelWant {
  ObjectId object;
  Version version;
};

// The receiver closes each grant exactly once.
enum class Outcome : std::uint8_t {
  kDone = 1,  // every granted stripe is complete
  kFailed =
      2,  // the stream broke, stalled, wasn't ahead, sent bad bytes: the stripes that are still
          // missing are parked again at once, before others, and `marks` says where to resume
  kDeclined =
      3,  // the reservation was lost: not parked again; those behind it are granted elsewhere
  kAbandoned = 4,  // cancelled, moved or recalled: not parked again
};
// Why a grant failed. kNotAhead blames nobody; the others keep the (receiver, source) pair apart
// for a while, and never change the source's own record: only its own session does.
enum class Failure : std::uint8_t {
  kNone = 0,
  kUnreachable = 1,
  kBroken = 2,
  kStalled = 3,
  kNotAhead = 4,
  kCorrupt = 5,
  kUnknown = 6,  // the source does not have that version
};
struct GrantClosed {
  ObjectId object;
  Version version;
  GrantId grant;
  Outcome outcome = Outcome::kDone;
  // Of one that was abandoned, too: its source was out of reach all the while (kUnreachable).
  Failure failure = Failure::kNone;
  StripeMarks marks;
  NodeId source = kNoNode;  // of the grant, which the shard may have taken back
};

// Every <= 30 ms per active flow and batched; for status, lags and slow relays.
struct Progress {
  ObjectId object;
  Version version;
  StripeMarks marks;
  std::uint64_t bytes_per_second = 0;  // measured rate of the node's link, 0 = no sample yet
  Duration starved_for{0};             // 0 = bytes are flowing
  Duration round_trip{0};              // measured, to a peer and back; 0 = no sample yet
  Time at{};                           // when it had these marks, by its own clock; none: not told
};

struct Delete {
  ObjectId object;
};

// May this complete copy be dropped? Answer: EvictAnswer.
struct EvictAsk {
  ObjectId object;
  Version version;
  NodeId taker = kNoNode;  // this node is to get a copy if the one asked about is the last (R70)
};

// The node owns the id from now on, or no longer: some client of it does, or none (R50). Numbers of
// one node and shard only grow, also across sessions. Answer: OwnerAnswer. Not said while the shard
// was told nothing of the object in this session: Owned is, then.
struct Owner {
  ObjectId object;
  std::uint64_t number = 0;
  bool own = false;
  // How long the shard takes the node for its owner once the node is lost; none: the orphan grace.
  std::optional<Duration> grace = {};
};

struct Subscribe {
  ObjectId object;
  std::uint64_t expects = 0;  // as in Locate
};
struct Unsubscribe {
  ObjectId object;
};

// Inventory after a (re)connect: one Held per copy, one Tombstone per Delete that this node issued
// or executed and that has not expired, one Owned per id that it owns or lately owned, then its open
// requests (Create, Locate, Want, Delete, Subscribe) as ordinary events, then InventoryEnd.
// What a copy is pulled from now, or is about to be: these stripes through this grant.
struct Upstream {
  NodeId node = kNoNode;
  GrantId grant;
  StripeMask stripes = 0;
  friend bool operator==(const Upstream&, const Upstream&) = default;
};
struct Held {
  ObjectId object;
  Version version;
  Layout layout;
  std::string metadata;
  StripeMarks marks;
  bool complete = false;
  StripeMask produces = 0;          // makes these itself: its own Put, not yet sealed
  bool primary = false;             // made by a Put: not to be evicted
  std::vector<Upstream> upstreams;  // for the dependency graph; no stripe twice (R15)
  bool ever_owned = false;          // it goes with the id's last owner
  bool on_disk = false;             // as in CopyMoved
};
// All bytes of a complete copy, for the directory to keep: its putter repeats them after the
// shard's restart, when its inventory is told. Answered with InlineFull where there is no room.
struct HeldBytes {
  ObjectId object;
  Version version;
  InlineBytes bytes;
};
struct Tombstone {
  ObjectId object;
  Duration remaining{0};
  Version version;  // the tombstone's own, see Deleted
};
// The node owns the id, answered or not; or it did, as of a change that other nodes may not have
// felt yet. `number` is that of its last change. Answer: OwnerAnswer.
struct Owned {
  ObjectId object;
  std::uint64_t number = 0;
  bool own = false;
  std::optional<Duration> grace = {};
};
struct InventoryEnd {};

// How full the node's store is, how it fared, and what its process takes; for status only. Goes to every shard.
struct StoreUsage {
  std::uint64_t memory_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t corrupt_blocks = 0;  // that failed their checksum on arrival, since its start
  std::uint64_t received_bytes = 0;  // of objects, from and to other nodes, since its start
  std::uint64_t sent_bytes = 0;
  std::uint64_t told_at_us = 0;  // by a clock of the node that only goes forward
  std::uint64_t disk_bytes = 0;  // that objects may take on its disk; 0: it has none
  std::uint64_t disk_used_bytes = 0;
  ProcessUse process = {};
};

// What a node waits for, and its shards can't see.
struct Wait {
  ObjectId object;
  std::string why;        // in words
  std::string name = {};  // of the object, if nobody else can know it; empty: it is not known here
  friend bool operator==(const Wait&, const Wait&) = default;
};
inline constexpr std::size_t kMostWaits = 64;
inline constexpr std::size_t kMostWaitBytes = 1024;  // of one in words
// All that the node tells of its waits, in place of what it told before; for status only. Goes to
// every shard.
struct ToldWaits {
  std::vector<Wait> waits;
};

using NodeEvent =
    std::variant<Create, Withdraw, CopyComplete, CopyGone, CopyMoved, Locate, CancelLocate, Want,
                 CancelWant, GrantClosed, Progress, Delete, EvictAsk, Subscribe, Unsubscribe, Held,
                 HeldBytes, Tombstone, InventoryEnd, StoreUsage, ToldWaits, ReduceOpen, ReduceShape,
                 ReduceOrders, ReduceClose, SlotFailed, SlotDrained, ReduceCommit, SlotProgress,
                 Owner, Owned, RegisterUse>;

// The object an event speaks of (its shard); null for InventoryEnd, StoreUsage and ToldWaits,
// which go to every shard.
const ObjectId* ObjectOf(const NodeEvent& event);

}  // namespace hoplite::protocol
