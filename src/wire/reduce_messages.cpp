#include "wire/reduce_messages.h"

#include <utility>

#include <fmt/format.h>

#include <hoplite/reduce.h>

#include "base/try.h"
#include "wire/checked_fields.h"
#include "wire/directory_messages.h"
#include "wire/reduce_fields.h"

namespace hoplite::wire {

using protocol::NodeAction;
using protocol::NodeEvent;

// --- events

void Write(const protocol::ReduceOpen& event, v1::NodeEvent& to) {
  v1::ReduceOpen& body = *to.mutable_reduce_open();
  body.set_request(event.request);
  body.set_owned(event.owned);
  body.set_number(event.number);
  if (event.grace) body.set_grace_us(Microseconds(*event.grace));
  if (!event.shard_fold.sources.empty()) {
    WriteShardFold(event.shard_fold, *body.mutable_shard_fold());
  }
}
void Write(const protocol::ReduceShape& event, v1::NodeEvent& to) {
  v1::ReduceShape& body = *to.mutable_reduce_shape();
  body.set_request(event.request);
  WriteLayout(event.layout, *body.mutable_layout());
  WriteFold(event.fold, *body.mutable_fold());
  body.set_metadata(event.metadata);
  body.set_everyone_reads(event.everyone_reads);
}
void Write(const protocol::ReduceOrders& event, v1::NodeEvent& to) {
  v1::ReduceOrders& body = *to.mutable_reduce_orders();
  body.set_request(event.request);
  body.set_plan(event.plan);
  for (const protocol::PlannedOrder& planned : event.orders) {
    v1::PlannedOrder& added = *body.add_orders();
    added.set_attempt(planned.attempt);
    WriteOrder(planned.order, *added.mutable_order());
  }
}
void Write(const protocol::ReduceClose& event, v1::NodeEvent& to) {
  v1::ReduceClose& body = *to.mutable_reduce_close();
  body.set_request(event.request);
  body.set_code(static_cast<std::uint32_t>(event.code));
  body.set_message(event.message);
}
void Write(const protocol::SlotFailed& event, v1::NodeEvent& to) {
  v1::SlotFailed& body = *to.mutable_slot_failed();
  body.set_slot(event.slot);
  body.set_input(event.input);
  if (event.input_version) WriteStamp(event.input_version, *body.mutable_input_version());
  body.set_code(static_cast<std::uint32_t>(event.code));
  body.set_message(event.message);
}
void Write(const protocol::SlotDrained& event, v1::NodeEvent& to) {
  v1::SlotDrained& body = *to.mutable_slot_drained();
  body.set_slot(event.slot);
  body.set_input(event.input);
  WriteStamp(event.input_version, *body.mutable_input_version());
}
void Write(const protocol::ReduceCommit&, v1::NodeEvent& to) { to.mutable_reduce_commit(); }
void Write(const protocol::SlotProgress& event, v1::NodeEvent& to) {
  v1::SlotProgress& body = *to.mutable_slot_progress();
  body.set_slot(event.slot);
  body.mutable_marks()->Assign(event.marks.begin(), event.marks.end());
  body.set_bytes_per_second(event.bytes_per_second);
  body.set_round_trip_us(Microseconds(event.round_trip));
}

bool IsReduction(v1::NodeEvent::BodyCase body) {
  return (body >= v1::NodeEvent::kReduceOpen && body <= v1::NodeEvent::kSlotProgress) ||
         body == v1::NodeEvent::kReduceOrders;
}

bool ReductionNeedsVersion(v1::NodeEvent::BodyCase body) {
  return body >= v1::NodeEvent::kSlotFailed && body <= v1::NodeEvent::kSlotProgress;
}

namespace {

Result<NodeEvent> Read(const ObjectId& target, v1::ReduceOpen& body) {
  protocol::ReduceOpen event{target, body.request(), body.owned(), body.number(), {}};
  if (body.has_grace_us()) {
    TRY_ASSIGN(event.grace, ReadDuration(body.grace_us(), "grace_us"));
  }
  if (!body.has_shard_fold()) return event;
  TRY_ASSIGN(event.shard_fold, ReadShardFold(*body.mutable_shard_fold()));
  return event;
}

Result<NodeEvent> Read(const ObjectId& target, v1::ReduceShape& body) {
  protocol::ReduceShape event{.object = target, .request = body.request()};
  TRY_ASSIGN(event.fold, ReadFold(body.fold()));
  TRY_ASSIGN(event.layout, ReadShape(body.layout(), event.fold));
  TRY_ASSIGN(event.metadata, ReadMetadata(*body.mutable_metadata()));
  event.everyone_reads = body.everyone_reads();
  return event;
}

Result<NodeEvent> Read(const ObjectId& target, const v1::ReduceOrders& body) {
  protocol::ReduceOrders event{target, body.request(), body.plan(), {}};
  if (body.orders_size() > static_cast<int>(protocol::kMaxSlots)) {
    return Bad("orders", fmt::format("has {} entries, a plan at most {} slots", body.orders_size(),
                                     protocol::kMaxSlots));
  }
  for (const v1::PlannedOrder& planned : body.orders()) {
    protocol::PlannedOrder order{planned.attempt(), {}};
    TRY_ASSIGN(order.order, ReadOrder(planned.order()));
    event.orders.push_back(std::move(order));
  }
  return event;
}

Result<NodeEvent> Read(const ObjectId& target, const v1::ReduceClose& body) {
  TRY_ASSIGN(const ErrorCode code, ReadErrorCode(body.code()));
  return protocol::ReduceClose{target, body.request(), code, body.message()};
}

Result<NodeEvent> Read(const ObjectId& target, Version version, const v1::SlotFailed& body) {
  protocol::SlotFailed event{.object = target, .version = version};
  TRY_ASSIGN(event.slot, ReadSlot(body.slot(), "slot", 1));
  TRY_ASSIGN(event.input, ReadInput(body.input(), event.slot, 0));
  if (event.input != 0) {
    TRY_ASSIGN(event.input_version, ReadStamp<Version>(body.input_version(), "input_version"));
  }
  TRY_ASSIGN(event.code, ReadErrorCode(body.code()));
  event.message = body.message();
  return event;
}

Result<NodeEvent> Read(const ObjectId& target, Version version, const v1::SlotDrained& body) {
  protocol::SlotDrained event{.object = target, .version = version};
  TRY_ASSIGN(event.slot, ReadSlot(body.slot(), "slot", 1));
  TRY_ASSIGN(event.input, ReadInput(body.input(), event.slot, 1));
  TRY_ASSIGN(event.input_version, ReadStamp<Version>(body.input_version(), "input_version"));
  return event;
}

Result<NodeEvent> Read(const ObjectId& target, Version version, const v1::SlotProgress& body) {
  protocol::SlotProgress event{.object = target, .version = version};
  TRY_ASSIGN(event.slot, ReadSlot(body.slot(), "slot", 1));
  TRY_ASSIGN(event.marks, ReadMarks(body.marks()));
  event.bytes_per_second = body.bytes_per_second();
  TRY_ASSIGN(event.round_trip, ReadDuration(body.round_trip_us(), "round_trip_us"));
  return event;
}

}  // namespace

Result<NodeEvent> ReadReduction(const ObjectId& target, Version version, v1::NodeEvent& message) {
  switch (message.body_case()) {
    case v1::NodeEvent::kReduceOpen:
      return Read(target, *message.mutable_reduce_open());
    case v1::NodeEvent::kReduceShape:
      return Read(target, *message.mutable_reduce_shape());
    case v1::NodeEvent::kReduceOrders:
      return Read(target, message.reduce_orders());
    case v1::NodeEvent::kReduceClose:
      return Read(target, message.reduce_close());
    case v1::NodeEvent::kSlotFailed:
      return Read(target, version, message.slot_failed());
    case v1::NodeEvent::kSlotDrained:
      return Read(target, version, message.slot_drained());
    case v1::NodeEvent::kReduceCommit:
      return protocol::ReduceCommit{target, version};
    default:
      return Read(target, version, message.slot_progress());
  }
}

// --- actions

void Write(const protocol::ReduceOpened& action, v1::NodeAction& to) {
  v1::ReduceOpened& body = *to.mutable_reduce_opened();
  body.set_request(action.request);
  v1::LinkModel& link = *body.mutable_link();
  link.set_latency_us(Microseconds(action.link.latency));
  link.set_overhead_us(Microseconds(action.link.overhead));
  link.set_bytes_per_second(static_cast<std::uint64_t>(action.link.bytes_per_second));
  link.set_guessed(action.link.guessed);
}
void Write(const protocol::ReduceRefused& action, v1::NodeAction& to) {
  v1::ReduceRefused& body = *to.mutable_reduce_refused();
  body.set_request(action.request);
  body.set_code(static_cast<std::uint32_t>(action.code));
  body.set_message(action.message);
}
void Write(const protocol::SlotLost& action, v1::NodeAction& to) {
  v1::SlotLost& body = *to.mutable_slot_lost();
  body.set_request(action.request);
  body.set_attempt(action.attempt);
  body.set_slot(action.slot);
  body.set_code(static_cast<std::uint32_t>(action.code));
  body.set_message(action.message);
  body.set_receiver(Raw(action.receiver));
  body.set_third(Raw(action.third));
}
void Write(const protocol::ReduceCommitted& action, v1::NodeAction& to) {
  v1::ReduceCommitted& body = *to.mutable_reduce_committed();
  body.set_request(action.request);
  for (const ObjectId& used : action.used) body.add_used(std::string(used.view()));
  if (action.bytes) body.set_inline_bytes(*action.bytes);
  body.set_metadata(action.metadata);
}
void Write(const protocol::SlotAssigned& action, v1::NodeAction& to) {
  v1::SlotAssigned& body = *to.mutable_slot_assigned();
  WriteOrder(action.order, *body.mutable_order());
  WriteLayout(action.layout, *body.mutable_layout());
  WriteFold(action.fold, *body.mutable_fold());
  body.set_metadata(action.metadata);
}
void Write(const protocol::SlotFeed& action, v1::NodeAction& to) {
  v1::SlotFeed& body = *to.mutable_slot_feed();
  body.set_slot(action.slot);
  body.set_input(action.input);
  WriteStamp(action.input_version, *body.mutable_input_version());
  WriteNode(action.source, *body.mutable_source());
  body.set_stripes(action.stripes);
}
void Write(const protocol::SlotDropped& action, v1::NodeAction& to) {
  to.mutable_slot_dropped()->set_slot(action.slot);
}
void Write(const protocol::TargetAborted& action, v1::NodeAction& to) {
  to.mutable_target_aborted()->set_code(static_cast<std::uint32_t>(action.code));
  to.mutable_target_aborted()->set_message(action.message);
  to.mutable_target_aborted()->set_question(action.question);
}

bool IsReduction(v1::NodeAction::BodyCase body) {
  return body >= v1::NodeAction::kReduceOpened && body <= v1::NodeAction::kTargetAborted;
}

bool ReductionNeedsVersion(v1::NodeAction::BodyCase body) {
  return body >= v1::NodeAction::kReduceCommitted && body <= v1::NodeAction::kSlotDropped;
}

namespace {

Result<NodeAction> Read(const ObjectId& target, const v1::ReduceOpened& body) {
  protocol::ReduceOpened action{.object = target, .request = body.request()};
  TRY_ASSIGN(action.link.latency, ReadDuration(body.link().latency_us(), "latency_us"));
  TRY_ASSIGN(action.link.overhead, ReadDuration(body.link().overhead_us(), "overhead_us"));
  if (body.link().bytes_per_second() == 0) return Bad("bytes_per_second", "is missing");
  action.link.bytes_per_second = static_cast<double>(body.link().bytes_per_second());
  action.link.guessed = body.link().guessed();
  return action;
}

Result<NodeAction> Read(const ObjectId& target, const v1::ReduceRefused& body) {
  TRY_ASSIGN(const ErrorCode code, ReadErrorCode(body.code()));
  return protocol::ReduceRefused{target, body.request(), code, body.message()};
}

Result<NodeAction> Read(const ObjectId& target, const v1::SlotLost& body) {
  protocol::SlotLost action{.object = target, .request = body.request(), .attempt = body.attempt()};
  TRY_ASSIGN(action.slot, ReadSlot(body.slot(), "slot", 1));
  TRY_ASSIGN(action.code, ReadErrorCode(body.code()));
  action.message = body.message();
  action.receiver = NodeId(body.receiver());
  action.third = NodeId(body.third());
  return action;
}

Result<NodeAction> Read(const ObjectId& target, Version version, v1::ReduceCommitted& body) {
  protocol::ReduceCommitted action{
      .object = target, .version = version, .request = body.request(), .used = {}};
  TRY_ASSIGN(action.used, ReadObjects(body.used(), kMaxReduceSources, "used"));
  TRY_ASSIGN(action.metadata, ReadMetadata(*body.mutable_metadata()));
  if (!body.has_inline_bytes()) return action;
  TRY_ASSIGN(action.bytes, ReadInlineBytes(*body.mutable_inline_bytes(), "inline_bytes"));
  return action;
}

Result<NodeAction> Read(const ObjectId& target, Version version, v1::SlotAssigned& body) {
  protocol::SlotAssigned action{.object = target, .version = version};
  TRY_ASSIGN(action.order, ReadOrder(body.order()));
  if (action.order.node == kNoNode) return Bad("node", "is missing");
  TRY_ASSIGN(action.fold, ReadFold(body.fold()));
  TRY_ASSIGN(action.layout, ReadShape(body.layout(), action.fold));
  TRY_ASSIGN(action.metadata, ReadMetadata(*body.mutable_metadata()));
  return action;
}

Result<NodeAction> Read(const ObjectId& target, Version version, const v1::SlotFeed& body) {
  protocol::SlotFeed action{.object = target, .version = version};
  TRY_ASSIGN(action.slot, ReadSlot(body.slot(), "slot", 1));
  TRY_ASSIGN(action.input, ReadInput(body.input(), action.slot, 1));
  TRY_ASSIGN(action.input_version, ReadStamp<Version>(body.input_version(), "input_version"));
  TRY_ASSIGN(action.source, ReadNode(body.source(), "source"));
  action.stripes = body.stripes();
  if (action.stripes == 0) return Bad("stripes", "is empty");
  return action;
}

// Of a target that had no version yet there is none.
Result<NodeAction> Read(const ObjectId& target, const v1::Stamp& stamp,
                        const v1::TargetAborted& body) {
  TRY_ASSIGN(const ErrorCode code, ReadErrorCode(body.code()));
  protocol::TargetAborted action{target, {}, code, body.message(), body.question()};
  if (stamp.incarnation() != 0) {
    TRY_ASSIGN(action.version, ReadStamp<Version>(stamp, "version"));
  }
  return action;
}

}  // namespace

Result<NodeAction> ReadReduction(const ObjectId& target, Version version, v1::NodeAction& message) {
  switch (message.body_case()) {
    case v1::NodeAction::kReduceOpened:
      return Read(target, message.reduce_opened());
    case v1::NodeAction::kReduceRefused:
      return Read(target, message.reduce_refused());
    case v1::NodeAction::kSlotLost:
      return Read(target, message.slot_lost());
    case v1::NodeAction::kReduceCommitted:
      return Read(target, version, *message.mutable_reduce_committed());
    case v1::NodeAction::kSlotAssigned:
      return Read(target, version, *message.mutable_slot_assigned());
    case v1::NodeAction::kSlotFeed:
      return Read(target, version, message.slot_feed());
    case v1::NodeAction::kSlotDropped: {
      TRY_ASSIGN(const std::uint32_t slot, ReadSlot(message.slot_dropped().slot(), "slot", 1));
      return protocol::SlotDropped{target, slot, version};
    }
    default:
      return Read(target, message.version(), message.target_aborted());
  }
}

}  // namespace hoplite::wire
