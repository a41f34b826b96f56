// What a directory shard is told about reductions, and the parts that its answers share. A
// reduction belongs to its target's shard. Its coordinator (the node whose client asked for it)
// plans; the shard numbers every attempt, passes orders on, and decides what comes first: so every
// participant sees one order. Rules R29-R36 of docs/protocol.md.
//
//   slot   a place in the plan, numbered from 1; executed by a node, fed by its children and by
//              sources of its own; makes some stripes, or all. A root's output is the target, in its
//              stripes; a child's output is pulled by its parents with the ordinary fetch of the
//              data plane
//   version    an attempt to execute a slot; the root's is the version of the target
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/time.h"

namespace hoplite::protocol {

// Bound on slots, so that a bad number from a wire can't ask for much.
inline constexpr std::uint32_t kMaxSlots = 1 << 16;

struct Fold {
  Op op = Op::kSum;
  DType dtype = DType::kFloat32;
  std::uint32_t sources = 1;  // of the target, all together: a root divides a mean by that
  // Elements are the first so many bytes of each; 0: all. Those behind are the same in all of them.
  std::uint64_t folded_bytes = 0;
  friend bool operator==(const Fold&, const Fold&) = default;
};

struct SlotInput {
  ObjectId object;
  Version version;
  friend bool operator==(const SlotInput&, const SlotInput&) = default;
};

// What a slot is, and who executes it.
struct SlotOrder {
  std::uint32_t slot = 0;
  // Those that fold its output, each in the stripes that both make: together all of its stripes, and
  // none twice. None: it is a root, and makes these stripes of the target. In a tree there is one.
  std::vector<std::uint32_t> parents;
  StripeMask stripes = 0;         // what it makes; in a tree all there are
  std::uint32_t children = 0;     // how many slots feed it; it is final when all of them are
  NodeId node = kNoNode;          // nobody: the slot is vacant
  std::vector<SlotInput> inputs;  // its own sources, held by that node
  bool root() const { return parents.empty(); }
  friend bool operator==(const SlotOrder&, const SlotOrder&) = default;
};

// --- said by the coordinator; `request` is its own number of the reduction, never used twice -----

// Sources that the shard is to fold by itself, if it keeps the bytes of all that count (R82).
struct ShardFold {
  // More, or more of their bytes together, are not folded in one step.
  static constexpr std::size_t kMostSources = 1024;
  static constexpr std::uint64_t kMostBytes = 1 << 20;

  std::vector<ObjectId>
      sources;           // in the order in which they are folded; none: it is not asked for
  Fold fold;             // of dtype 0: that of the first source that counts
  std::string metadata;  // of the target; empty: that of the first source that counts
  std::optional<std::string> alike;  // as in ReduceOptions
};

// Reserves the target. Answer: ReduceOpened or ReduceRefused; or ReduceCommitted, if the shard has
// folded what is named here. Repeated in an inventory, and when sources have come.
struct ReduceOpen {
  ObjectId object;
  std::uint64_t request = 0;
  // As in Create. The node owns the target from the commit on.
  bool owned = false;
  std::uint64_t number = 0;
  ShardFold shard_fold;
  std::optional<Duration> grace = {};  // as in Create
};
// The size is known. Once per reduction, before the first order.
struct ReduceShape {
  ObjectId object;
  std::uint64_t request = 0;
  Layout layout;
  Fold fold;
  std::string metadata;
  bool everyone_reads = false;  // whoever executes a slot is to have a copy when it is committed
};
// Executes, or vacates, a slot. An attempt that is not newer than the known one changes nothing.
struct PlannedOrder {
  std::uint64_t attempt = 0;
  SlotOrder order;
  friend bool operator==(const PlannedOrder&, const PlannedOrder&) = default;
};
// `plan` 0: orders beside what was ordered before. Each resets its slot, if that was executed before,
// and all its ancestors: they get new versions. Else the whole plan of that number, in place of what
// was ordered before, as one: slots are numbered anew. Plans and attempts are numbered together. A
// shard that knows this plan, or a later one, ignores it. All are repeated after each ReduceOpened.
struct ReduceOrders {
  ObjectId object;
  std::uint64_t request = 0;
  std::uint64_t plan = 0;
  std::vector<PlannedOrder> orders;
};
inline ReduceOrders OneOrder(const ObjectId& object, std::uint64_t request, std::uint64_t attempt,
                             SlotOrder order) {
  return {object, request, 0, {{attempt, std::move(order)}}};
}
// Gives up: the target's waiters get this error. After ReduceCommitted: the outcome is known.
struct ReduceClose {
  ObjectId object;
  std::uint64_t request = 0;
  ErrorCode code = ErrorCode::kCancelled;
  std::string message;
};

// --- said by a participant

// `input`: the child whose stream is lost, with the version that was pulled; 0: this slot
// itself can't go on (its own source is gone, no memory). `unavailable`, of a child: its node could
// not be connected to (R68).
struct SlotFailed {
  ObjectId object;
  std::uint32_t slot = 0;
  Version version;
  std::uint32_t input = 0;
  Version input_version;
  ErrorCode code = ErrorCode::kPeerLost;
  std::string message;
};
// The END of this child's output arrived: nothing of the child is needed while this slot lives.
struct SlotDrained {
  ObjectId object;
  std::uint32_t slot = 0;
  Version version;
  std::uint32_t input = 0;
  Version input_version;
};
// A root whose last fold is done. Answer: ReduceCommitted, unless a reset came first.
struct ReduceCommit {
  ObjectId object;
  Version version;
};
// Now and then while a slot is executed, and in an inventory; answered with SlotDropped if the
// shard knows nothing of it.
struct SlotProgress {
  ObjectId object;
  std::uint32_t slot = 0;
  Version version;
  StripeMarks marks;                   // of its output
  std::uint64_t bytes_per_second = 0;  // as in Progress, as is the next
  Duration round_trip{0};
};

}  // namespace hoplite::protocol
