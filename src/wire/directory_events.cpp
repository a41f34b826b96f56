// Node to shard: the events.
#include <string>

#include <fmt/format.h>

#include "base/object_names.h"
#include "hoplite/v1/directory.pb.h"
#include "protocol/node_event.h"
#include "wire/directory_messages.h"
#include "wire/reduce_fields.h"
#include "wire/register_fields.h"
#include "wire/words.h"

namespace hoplite::wire {

namespace {

Result<void> HasAllInlineBytes(const protocol::Create& create) {
  if (create.inline_bytes == nullptr) return {};
  const std::size_t given = create.inline_bytes->size();
  if (given == create.layout.size_bytes) return {};
  return Bad("inline_bytes",
             fmt::format("has {} bytes, the layout says {}", given, create.layout.size_bytes));
}

// A stripe is pulled from one node at a time.
Result<void> NamesEachStripeOnce(const protocol::Held& held) {
  StripeMask named = 0;
  for (const protocol::Upstream& from : held.upstreams) {
    if (from.node == kNoNode) return Bad("upstreams", "has one without a node");
    if (from.stripes == 0 || (from.stripes & ~held.layout.all_stripes()) != 0) {
      return Bad("upstreams", "has one without stripes, or with stripes beyond the layout's");
    }
    if ((from.stripes & named) != 0) return Bad("upstreams", "names a stripe twice");
    named |= from.stripes;
  }
  return {};
}

Result<void> FitsItsLayout(const protocol::Held& held) {
  if (!held.layout.valid(held.marks)) return Bad("marks", "do not fit the layout");
  if (held.complete && !held.layout.complete(held.marks)) {
    return Bad("complete", "is set on a copy whose marks are not full");
  }
  if ((held.produces & ~held.layout.all_stripes()) == 0) return {};
  return Bad("produces", "has stripes beyond the layout's");
}

Result<void> HasVersionOfInput(const protocol::SlotFailed& failed) {
  if (failed.input == 0 || failed.input_version) return {};
  return Bad("input_version", "is missing");
}

}  // namespace

RANGE(protocol::GoneReason, kAborted, kRecalled);
RANGE(protocol::Outcome, kDone, kAbandoned);
RANGE(protocol::Failure, kNone, kUnknown);

WORD(Create, create, FIELD(layout), FIELD(metadata, Metadata), FIELD(inline_bytes), FIELD(attempt),
     FIELD(owned), FIELD(only_if_owned), FIELD(number), FIELD_AS(grace, grace_us),
     Check<HasAllInlineBytes>());
WORD(Withdraw, withdraw, FIELD(attempt));
WORD(CopyComplete, copy_complete);
WORD(CopyGone, copy_gone, FIELD(reason));
WORD(CopyMoved, copy_moved, FIELD(on_disk));
WORD(Locate, locate, FIELD_AS(expects, number), FIELD(room), FIELD_AS(number, question),
     FIELD(joint));
WORD(CancelLocate, cancel_locate);
WORD(Want, want, FIELD(marks), FIELD(leaf), FIELD(joint));
WORD(CancelWant, cancel_want);
WORD(GrantClosed, grant_closed, FIELD(grant), FIELD(outcome), FIELD(failure), FIELD(marks),
     FIELD(source));
WORD(Progress, progress, FIELD(marks), FIELD(bytes_per_second), FIELD_AS(starved_for, starved_us),
     FIELD_AS(round_trip, round_trip_us), FIELD_AS(at, at_us));
WORD(Delete, delete_);
WORD(EvictAsk, evict_ask, FIELD(taker));
WORD(Subscribe, subscribe, FIELD_AS(expects, number));
WORD(Unsubscribe, unsubscribe);
WORD(Owner, owner, FIELD(number), FIELD(own), FIELD_AS(grace, grace_us));
WORD(Owned, owned, FIELD(number), FIELD(own), FIELD_AS(grace, grace_us));

// These make an inventory.
FIELDS(protocol::Upstream, FIELD(node), FIELD(grant), FIELD(stripes));
WORD(Held, held, FIELD(layout), FIELD(metadata, Metadata), FIELD(marks), FIELD(complete),
     FIELD(produces), FIELD(primary), FIELD(upstreams, AtMost<kMaxStripes>), FIELD(ever_owned),
     FIELD(on_disk), Check<FitsItsLayout>(), Check<NamesEachStripeOnce>());
WORD(HeldBytes, held_bytes, FIELD_AS(bytes, data));
WORD(Tombstone, tombstone, FIELD_AS(remaining, remaining_us));
WORD(InventoryEnd, inventory_end);

// These go to every shard.
FIELDS(protocol::Wait, FIELD(object), FIELD(why, AtMost<protocol::kMostWaitBytes>),
       FIELD(name, AtMost<kMaxObjectNameBytes>));
WORD(ToldWaits, told_waits, FIELD(waits, AtMost<protocol::kMostWaits>));
BODY(StoreUsage, store_usage);

// The coordinator of a reduction says the first four, its participants the others.
WORD(ReduceOpen, reduce_open, FIELD(request), FIELD(owned), FIELD(number),
     FIELD(shard_fold, OrNone), FIELD_AS(grace, grace_us));
WORD(ReduceShape, reduce_shape, FIELD(request), FIELD(fold), FIELD(layout),
     FIELD(metadata, Metadata), FIELD(everyone_reads),
     Check<HasWholeElements<protocol::ReduceShape>>());
WORD(ReduceOrders, reduce_orders, FIELD(request), FIELD(plan),
     FIELD(orders, AtMost<protocol::kMaxSlots>));
WORD(ReduceClose, reduce_close, FIELD(request), FIELD(code), FIELD(message));
WORD(SlotFailed, slot_failed, FIELD(slot, Slot<1>), FIELD(input, Slot<0>),
     FIELD(input_version, OrNone), FIELD(code), FIELD(message),
     Check<HasAnotherInput<protocol::SlotFailed>>(), Check<HasVersionOfInput>());
WORD(SlotDrained, slot_drained, FIELD(slot, Slot<1>), FIELD(input, Slot<1>), FIELD(input_version),
     Check<HasAnotherInput<protocol::SlotDrained>>());
WORD(ReduceCommit, reduce_commit);
WORD(SlotProgress, slot_progress, FIELD(slot, Slot<1>), FIELD(marks), FIELD(bytes_per_second),
     FIELD_AS(round_trip, round_trip_us));

WORD(RegisterUse, register_use, FIELD(number), FIELD(open), FIELD(claim, OrNone), FIELD(knows),
     CallOfUse{});

v1::NodeEvent ToProto(const protocol::NodeEvent& event) {
  return WrittenWord<v1::NodeEvent>(event);
}
Result<protocol::NodeEvent> FromProto(v1::NodeEvent& message) {
  return ReadOneOf(message, std::type_identity<protocol::NodeEvent>());
}

}  // namespace hoplite::wire
