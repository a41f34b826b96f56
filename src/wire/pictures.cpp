#include "wire/pictures.h"

#include "wire/field_forms.h"
#include "wire/message_fields.h"

namespace hoplite::wire {

FIELDS(protocol::NodeView, FIELD(node), FIELD(alive), FIELD(usage), FIELD(bytes_per_second),
       FIELD_AS(rate_age, rate_age_us), FIELD_AS(round_trip, round_trip_us));

FIELDS(protocol::SessionQueuesView, FIELD_AS(limit_bytes, session_queue_bytes),
       FIELD_AS(most_bytes, most_queued_bytes), FIELD_AS(most_node, most_queued_node));
FIELDS(protocol::MovesView, FIELD(reason), FIELD(count));
FIELDS(protocol::ShardView, FIELD(objects), FIELD(inline_bytes), FIELD(inline_total_bytes),
       FLAT(queues), FIELD(moves), FIELD(process), FIELD(members, OrNone));

FIELDS(protocol::HolderView, FIELD(node), FIELD(node_name), FIELD(complete), FIELD(producing),
       FIELD(valid_bytes), FIELD(bytes_per_second), FIELD_AS(rate_age, rate_age_us));
FIELDS(protocol::TransferView, FIELD(from), FIELD(to), FIELD(from_name), FIELD(to_name),
       FIELD(grant, OrZero), FIELD(valid_bytes));
FIELDS(protocol::WaiterView, FIELD(node), FIELD(node_name), FIELD(why));
FIELDS(protocol::SlotView, FIELD(slot), FIELD(parents), FIELD(stripes), FIELD(node),
       FIELD(node_name), FIELD(version, OrNone), FIELD(inputs), FIELD(valid_bytes));
FIELDS(protocol::RegisterView, FIELD(version, OrNone), FIELD(value), FIELD(writer), FIELD(nodes));
FIELDS(protocol::ObjectView, FIELD(object), FIELD(version, OrNone), FIELD(size_bytes),
       FIELD(metadata), FIELD(inlined), FIELD(holders), FIELD(transfers), FIELD(waiters),
       FIELD(slots), FIELD(ever_owned), FIELD(owners), FIELD_AS(grace, grace_us),
       FIELD(as_register), FIELD(crowded));

FIELDS(protocol::PageRequest, FIELD(after), FIELD(limit, OrDefault), FIELD(under_way));
FIELDS(protocol::ObjectPage, FIELD(objects), FIELD(reached), FIELD(more));
FIELDS(protocol::StatusPage, FIELD(nodes), FIELD(shard), FLAT(page));

v1::NodeView ToProto(const protocol::NodeView& view) { return Written<v1::NodeView>(view); }
v1::ShardView ToProto(const protocol::ShardView& view) { return Written<v1::ShardView>(view); }
v1::ObjectView ToProto(const protocol::ObjectView& view) { return Written<v1::ObjectView>(view); }
v1::StatusReply ToProto(const protocol::StatusPage& status) {
  return Written<v1::StatusReply>(status);
}
v1::StatusRequest ToProto(const protocol::PageRequest& page) {
  return Written<v1::StatusRequest>(page);
}

Result<protocol::NodeView> FromProto(const v1::NodeView& message) {
  return ReadAs<protocol::NodeView>(message);
}
Result<protocol::ShardView> FromProto(const v1::ShardView& message) {
  return ReadAs<protocol::ShardView>(message);
}
Result<protocol::ObjectView> FromProto(const v1::ObjectView& message) {
  return ReadAs<protocol::ObjectView>(message);
}
Result<protocol::StatusPage> FromProto(const v1::StatusReply& message) {
  return ReadAs<protocol::StatusPage>(message);
}
Result<protocol::PageRequest> FromProto(const v1::StatusRequest& message) {
  return ReadAs<protocol::PageRequest>(message);
}

}  // namespace hoplite::wire
