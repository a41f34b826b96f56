// What a directory shard says to a node: each NodeAction is one message of its session.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/time.h"
#include "protocol/failure.h"
#include "protocol/node_event.h"
#include "protocol/node_info.h"
#include "protocol/reduce_action.h"
#include "protocol/register.h"

namespace hoplite::protocol {

// The Create is now this version, and others may be sent to this node for it. If it was `owned`, the
// node owns the id.
struct CreateAccepted {
  ObjectId object;
  Version version;
  bool ever_owned = false;  // the copy goes with the id's last owner
};
struct CreateRefused {
  ObjectId object;
  ErrorCode code = ErrorCode::kAlreadyExists;
  std::string message;
};

// The object exists: reserve memory for it, then say Want; unless that was said with the question.
struct Located {
  ObjectId object;
  Version version;
  Layout layout;
  std::string metadata;
  bool ever_owned = false;  // copies of it go with the id's last owner
  // Not 0: the node's Locate of this number counted as its Want from the first block on, which
  // CancelWant takes back like any (R63).
  std::uint64_t wanted = 0;
};
// Who gets the bytes of a Give after the node that hears it, and the number of the question that
// these answer.
struct Onward {
  NodeInfo node;
  std::uint64_t number = 0;
};

// The whole object. Answers a Locate: no reservation with the shard, no data connection; the node is
// no holder of it. Or helps a Want that waits in vain, of this version (R15). With a list it is a
// Give, which its node hands on (R83).
struct InlineObject {
  static constexpr std::size_t kMostOnward = 255;
  ObjectId object;
  Version version;
  std::string metadata;
  InlineBytes bytes;
  std::vector<Onward> onward;
  std::uint64_t number = 0;  // of a Give from another node: of the question that it answers
};

// Pull these stripes from that source. The receiver closes its old upstream of these stripes before
// it opens this one, and closes the grant exactly once with GrantClosed.
struct Grant {
  ObjectId object;
  Version version;
  GrantId grant;
  NodeInfo source;
  StripeMask stripes = 0;
  bool equality_ok = false;  // the source may serve although its watermark equals the receiver's
  GrantId replaces;          // none, or an open grant of the same receiver that this one supersedes
                             // (the action Move): the receiver closes that as kAbandoned
};

// Versions of this object below `version` are void: drop their copies, tell those downstream
// (RECALL), and whoever still waits for the object asks again with Locate.
struct Recall {
  ObjectId object;
  Version version;
};

// The object was deleted: drop every copy, answer every waiter `deleted`. Sent to holders, waiters,
// subscribers and the one that asked; keep the mark for `remaining` (local look-ups check it).
struct Deleted {
  ObjectId object;
  Duration remaining{0};
  Version version;  // the tombstone's: newer than what it deletes, older than a later put
};

// What became of the node's change of this number: `deleted`: nobody owns the id, it is being
// deleted; `limit`: the node owns too many ids, and not this one.
enum class OwnerResult : std::uint8_t { kOk = 1, kDeleted = 2, kLimit = 3 };
struct OwnerAnswer {
  ObjectId object;
  std::uint64_t number = 0;
  OwnerResult result = OwnerResult::kOk;
};

// Somebody owns the id, or once did: the node's copies of it go with its last owner, and its
// inventories say so.
struct EverOwned {
  ObjectId object;
};

// Nobody owns the id, and nothing is there or under way that it could be: those who rely on an owner,
// up to this number of the node's, need not wait (R59).
struct Unowned {
  ObjectId object;
  std::uint64_t number = 0;
};

struct EvictAnswer {
  ObjectId object;
  Version version;
  bool drop = false;  // false: it is the last complete copy and is now primary
};

// For subscribers: the newest state of one node's copy, after each change; who is slow is not
// told of all (R43).
enum class LocationKind : std::uint8_t { kPartial = 1, kComplete = 2, kGone = 3, kInline = 4 };
struct Location {
  ObjectId object;
  Version version;
  NodeId node = kNoNode;
  std::string node_name;
  LocationKind kind = LocationKind::kPartial;
  bool producing = false;  // partial, but it will be complete without any source
  Layout layout;
  std::string metadata;
  std::string site;  // of the node
};

// For those who wait for an object whose holders were lost, so that a deadline can name them.
struct HolderLost {
  ObjectId object;
  Loss loss;
};

// Get a copy of this version, as if a client of yours had asked for it, unless there is one: others
// read it who can't reach its holders (R68), or were promised one. Not answered.
struct TakeCopy {
  // So long nothing may come to it. Whoever is fed by the copy keeps it longer.
  static constexpr Duration kPatience = std::chrono::seconds(10);
  ObjectId object;
  Version version;
};

// Hand your copy of this version on to these, as a Give: the shard's own link has much to carry (R83).
// Not answered.
struct GiveCopy {
  ObjectId object;
  Version version;
  std::vector<Onward> onward;  // at most InlineObject::kMostOnward
};

// The directory has no room for the bytes of this object: others need not be told either.
struct InlineFull {
  ObjectId object;
};

using NodeAction =
    std::variant<CreateAccepted, CreateRefused, Located, InlineObject, Grant, Recall, Deleted,
                 EvictAnswer, Location, HolderLost, InlineFull, ReduceOpened, ReduceRefused,
                 SlotLost, ReduceCommitted, SlotAssigned, SlotFeed, SlotDropped, TargetAborted,
                 OwnerAnswer, EverOwned, Unowned, TakeCopy, GiveCopy, RegisterNews>;

const ObjectId& ObjectOf(const NodeAction& action);

}  // namespace hoplite::protocol
