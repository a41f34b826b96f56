#include "wire/pictures.h"

#include <utility>

#include "base/try.h"
#include "wire/checked_fields.h"

namespace hoplite::wire {

v1::NodeView ToProto(const protocol::NodeView& view) {
  v1::NodeView message;
  WriteNode(view.node, *message.mutable_node());
  message.set_alive(view.alive);
  WriteUsage(view.usage, *message.mutable_usage());
  message.set_bytes_per_second(view.bytes_per_second);
  message.set_round_trip_us(Microseconds(view.round_trip));
  message.set_rate_age_us(Microseconds(view.rate_age));
  return message;
}

Result<protocol::NodeView> FromProto(const v1::NodeView& message) {
  TRY_ASSIGN(protocol::NodeInfo node, ReadNode(message.node(), "node"));
  TRY_ASSIGN(const Duration round_trip, ReadDuration(message.round_trip_us(), "round_trip_us"));
  TRY_ASSIGN(const Duration rate_age, ReadDuration(message.rate_age_us(), "rate_age_us"));
  return protocol::NodeView{.node = std::move(node),
                            .alive = message.alive(),
                            .usage = ReadUsage(message.usage()),
                            .bytes_per_second = message.bytes_per_second(),
                            .rate_age = rate_age,
                            .round_trip = round_trip};
}

v1::ShardView ToProto(const protocol::ShardView& view) {
  v1::ShardView message;
  message.set_objects(view.objects);
  message.set_inline_bytes(view.inline_bytes);
  message.set_inline_total_bytes(view.inline_total_bytes);
  message.set_session_queue_bytes(view.queues.limit_bytes);
  message.set_most_queued_bytes(view.queues.most_bytes);
  message.set_most_queued_node(view.queues.most_node);
  for (const protocol::MovesView& moves : view.moves) {
    auto& added = *message.add_moves();
    added.set_reason(moves.reason);
    added.set_count(moves.count);
  }
  return message;
}

protocol::ShardView FromProto(const v1::ShardView& message) {
  protocol::ShardView view{.objects = message.objects(),
                           .inline_bytes = message.inline_bytes(),
                           .inline_total_bytes = message.inline_total_bytes(),
                           .queues = {.limit_bytes = message.session_queue_bytes(),
                                      .most_bytes = message.most_queued_bytes(),
                                      .most_node = message.most_queued_node()}};
  for (const auto& moves : message.moves()) view.moves.push_back({moves.reason(), moves.count()});
  return view;
}

v1::ObjectView ToProto(const protocol::ObjectView& view) {
  v1::ObjectView message;
  message.set_object(std::string(view.object.view()));
  if (view.version) WriteStamp(view.version, *message.mutable_version());
  message.set_size_bytes(view.size_bytes);
  message.set_metadata(view.metadata);
  message.set_inlined(view.inlined);
  for (const protocol::HolderView& holder : view.holders) {
    v1::ObjectView::Holder& to = *message.add_holders();
    to.set_node(Raw(holder.node));
    to.set_node_name(holder.node_name);
    to.set_complete(holder.complete);
    to.set_producing(holder.producing);
    to.set_valid_bytes(holder.valid_bytes);
    to.set_bytes_per_second(holder.bytes_per_second);
    to.set_rate_age_us(Microseconds(holder.rate_age));
  }
  for (const protocol::TransferView& transfer : view.transfers) {
    v1::ObjectView::Transfer& to = *message.add_transfers();
    to.set_from(Raw(transfer.from));
    to.set_to(Raw(transfer.to));
    to.set_from_name(transfer.from_name);
    to.set_to_name(transfer.to_name);
    WriteStamp(transfer.grant, *to.mutable_grant());
    to.set_valid_bytes(transfer.valid_bytes);
  }
  for (const protocol::WaiterView& waiter : view.waiters) {
    v1::ObjectView::Waiter& to = *message.add_waiters();
    to.set_node(Raw(waiter.node));
    to.set_node_name(waiter.node_name);
    to.set_why(waiter.why);
  }
  for (const protocol::SlotView& slot : view.slots) {
    v1::ObjectView::Slot& to = *message.add_slots();
    to.set_slot(slot.slot);
    to.mutable_parents()->Assign(slot.parents.begin(), slot.parents.end());
    to.set_stripes(slot.stripes);
    to.set_node(Raw(slot.node));
    to.set_node_name(slot.node_name);
    if (slot.version) WriteStamp(slot.version, *to.mutable_version());
    for (const ObjectId& input : slot.inputs) to.add_inputs(std::string(input.view()));
    to.set_valid_bytes(slot.valid_bytes);
  }
  message.set_ever_owned(view.ever_owned);
  message.set_owners(view.owners);
  for (const std::string& node : view.crowded) message.add_crowded(node);
  if (view.grace) message.set_grace_us(Microseconds(*view.grace));
  if (view.as_register) {
    v1::ObjectView::Register& to = *message.mutable_as_register();
    if (view.as_register->version) WriteStamp(view.as_register->version, *to.mutable_version());
    to.set_value(view.as_register->value);
    to.set_writer(view.as_register->writer);
    to.set_nodes(view.as_register->nodes);
  }
  return message;
}

Result<protocol::ObjectView> FromProto(const v1::ObjectView& message) {
  protocol::ObjectView view;
  TRY_ASSIGN(view.object, ReadObject(message.object()));
  view.version = {{message.version().incarnation(), message.version().sequence()}};
  view.size_bytes = message.size_bytes();
  view.metadata = message.metadata();
  view.inlined = message.inlined();
  for (const v1::ObjectView::Holder& from : message.holders()) {
    TRY_ASSIGN(const Duration rate_age, ReadDuration(from.rate_age_us(), "rate_age_us"));
    view.holders.push_back({.node = NodeId{from.node()},
                            .node_name = from.node_name(),
                            .complete = from.complete(),
                            .producing = from.producing(),
                            .valid_bytes = from.valid_bytes(),
                            .bytes_per_second = from.bytes_per_second(),
                            .rate_age = rate_age});
  }
  for (const v1::ObjectView::Transfer& from : message.transfers()) {
    view.transfers.push_back({.from = NodeId{from.from()},
                              .to = NodeId{from.to()},
                              .from_name = from.from_name(),
                              .to_name = from.to_name(),
                              .grant = {{from.grant().incarnation(), from.grant().sequence()}},
                              .valid_bytes = from.valid_bytes()});
  }
  for (const v1::ObjectView::Waiter& from : message.waiters()) {
    view.waiters.push_back(
        {.node = NodeId{from.node()}, .node_name = from.node_name(), .why = from.why()});
  }
  for (const v1::ObjectView::Slot& from : message.slots()) {
    protocol::SlotView slot{.slot = from.slot(),
                            .parents = {from.parents().begin(), from.parents().end()},
                            .stripes = from.stripes(),
                            .node = NodeId{from.node()},
                            .node_name = from.node_name(),
                            .version = {{from.version().incarnation(), from.version().sequence()}},
                            .inputs = {},
                            .valid_bytes = from.valid_bytes()};
    for (const std::string& input : from.inputs()) {
      TRY_ASSIGN(const ObjectId id, ReadObject(input));
      slot.inputs.push_back(id);
    }
    view.slots.push_back(std::move(slot));
  }
  view.ever_owned = message.ever_owned();
  view.owners = message.owners();
  view.crowded.assign(message.crowded().begin(), message.crowded().end());
  if (message.has_grace_us()) {
    TRY_ASSIGN(view.grace, ReadDuration(message.grace_us(), "grace_us"));
  }
  if (message.has_as_register()) {
    const v1::ObjectView::Register& from = message.as_register();
    view.as_register = protocol::RegisterView{
        .version = {{from.version().incarnation(), from.version().sequence()}},
        .value = from.value(),
        .writer = from.writer(),
        .nodes = from.nodes()};
  }
  return view;
}

v1::StatusRequest ToProto(const protocol::PageRequest& page) {
  v1::StatusRequest message;
  if (page.after) message.set_after(std::string(page.after->view()));
  message.set_limit(page.limit);
  message.set_under_way(page.under_way);
  return message;
}

Result<protocol::PageRequest> FromProto(const v1::StatusRequest& message) {
  protocol::PageRequest page;
  if (!message.after().empty()) {
    TRY_ASSIGN(page.after, ReadObject(message.after()));
  }
  if (message.limit() > 0) page.limit = message.limit();
  page.under_way = message.under_way();
  return page;
}

v1::StatusReply ToProto(const protocol::StatusPage& status) {
  v1::StatusReply message;
  for (const protocol::NodeView& node : status.nodes) *message.add_nodes() = ToProto(node);
  for (const protocol::ObjectView& object : status.page.objects) {
    *message.add_objects() = ToProto(object);
  }
  message.set_more(status.page.more);
  if (status.page.reached) message.set_reached(std::string(status.page.reached->view()));
  *message.mutable_shard() = ToProto(status.shard);
  return message;
}

Result<protocol::StatusPage> FromProto(const v1::StatusReply& message) {
  protocol::StatusPage status;
  for (const v1::NodeView& node : message.nodes()) {
    TRY_ASSIGN(protocol::NodeView one, FromProto(node));
    status.nodes.push_back(std::move(one));
  }
  for (const v1::ObjectView& object : message.objects()) {
    TRY_ASSIGN(protocol::ObjectView one, FromProto(object));
    status.page.objects.push_back(std::move(one));
  }
  status.page.more = message.more();
  if (!message.reached().empty()) {
    TRY_ASSIGN(status.page.reached, ReadObject(message.reached()));
  }
  status.shard = FromProto(message.shard());
  return status;
}

}  // namespace hoplite::wire
