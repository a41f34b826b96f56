// Shard to node: the actions.
#include "hoplite/v1/directory.pb.h"
#include "protocol/node_action.h"
#include "wire/directory_messages.h"
#include "wire/reduce_fields.h"
#include "wire/register_fields.h"
#include "wire/words.h"

namespace hoplite::wire {

namespace {

// A rate is a whole number of bytes there, and not 0.
struct Rate : ByType {
  static void Write(double value, const auto& to) { to.set(static_cast<std::uint64_t>(value)); }
  static bool Read(const auto& from, double& value) {
    value = static_cast<double>(from.get());
    return from.get() != 0 || from.Refuse("is missing");
  }
};

Result<void> HasANode(const protocol::SlotAssigned& assigned) {
  if (assigned.order.node != kNoNode) return {};
  return Bad("node", "is missing");
}

}  // namespace

RANGE(protocol::OwnerResult, kOk, kLimit);
RANGE(protocol::LocationKind, kPartial, kInline);
RANGE(protocol::RegisterOutcome, kNews, kLimit);

WORD(CreateAccepted, create_accepted, FIELD(ever_owned));
WORD(CreateRefused, create_refused, FIELD(code), FIELD(message));
WORD(Located, located, FIELD(layout), FIELD(metadata, Metadata), FIELD(ever_owned), FIELD(wanted));

FIELDS(protocol::Onward, FIELD(node), FIELD(number));
using ToOthers = AtMost<protocol::InlineObject::kMostOnward>;
WORD(InlineObject, inline_object, FIELD(metadata, Metadata), FIELD_AS(bytes, data),
     FIELD(onward, ToOthers), FIELD(number));
WORD(GiveCopy, give_copy, FIELD(onward, ToOthers));

WORD(Grant, grant, FIELD(grant), FIELD(source), FIELD(stripes), FIELD(equality_ok),
     FIELD(replaces, OrNone));
WORD(Recall, recall);
WORD(Deleted, deleted, FIELD_AS(remaining, remaining_us));
WORD(EvictAnswer, evict_answer, FIELD(drop));
WORD(Location, location, FIELD(node), FIELD(node_name), FIELD(kind), FIELD(producing),
     FIELD(layout, OrNone), FIELD(metadata, Metadata), FIELD(site));
FIELDS(protocol::Loss, FIELD(node_name), FIELD(unfinished));
WORD(HolderLost, holder_lost, FLAT(loss));
WORD(TakeCopy, take_copy);
WORD(InlineFull, inline_full);

WORD(OwnerAnswer, owner_answer, FIELD(number), FIELD(result));
WORD(EverOwned, ever_owned);
WORD(Unowned, unowned, FIELD(number));

// The coordinator of a reduction hears the first four, its participants the next three, whoever
// waits for the target the last.
FIELDS(protocol::LinkModel, FIELD_AS(latency, latency_us), FIELD_AS(overhead, overhead_us),
       FIELD(bytes_per_second, Rate), FIELD(guessed));
WORD(ReduceOpened, reduce_opened, FIELD(request), FIELD(link));
WORD(ReduceRefused, reduce_refused, FIELD(request), FIELD(code), FIELD(message));
WORD(SlotLost, slot_lost, FIELD(request), FIELD(attempt), FIELD(slot, Slot<1>), FIELD(code),
     FIELD(message), FIELD(receiver), FIELD(third));
WORD(ReduceCommitted, reduce_committed, FIELD(request), FIELD(used, AtMost<kMaxReduceSources>),
     FIELD_AS(bytes, inline_bytes), FIELD(metadata, Metadata));
WORD(SlotAssigned, slot_assigned, FIELD(order), FIELD(fold), FIELD(layout),
     FIELD(metadata, Metadata), Check<HasANode>(),
     Check<HasWholeElements<protocol::SlotAssigned>>());
WORD(SlotFeed, slot_feed, FIELD(slot, Slot<1>), FIELD(input, Slot<1>), FIELD(input_version),
     FIELD(source), FIELD(stripes, Given), Check<HasAnotherInput<protocol::SlotFeed>>());
WORD(SlotDropped, slot_dropped, FIELD(slot, Slot<1>));
// A target that had no version yet has none here.
template <>
inline constexpr List kBeside<protocol::TargetAborted>{FIELD(object), FIELD(version, OrZero)};
WORD(TargetAborted, target_aborted, FIELD(code), FIELD(message), FIELD(question));

WORD(RegisterNews, register_news, FIELD(entry), FIELD(writer), FIELD(outcome), FIELD(call));

v1::NodeAction ToProto(const protocol::NodeAction& action) {
  return WrittenWord<v1::NodeAction>(action);
}
Result<protocol::NodeAction> FromProto(v1::NodeAction& message) {
  return ReadOneOf(message, std::type_identity<protocol::NodeAction>());
}

}  // namespace hoplite::wire
