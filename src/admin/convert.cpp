#include "admin/convert.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/shown_text.h"
#include "base/try.h"
#include "protocol/elements.h"
#include "protocol/object_name.h"

namespace hoplite::admin {
namespace {

grpc::StatusCode CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case ErrorCode::kResourceExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    default:
      return grpc::StatusCode::INTERNAL;
  }
}

std::unexpected<Error> Invalid(std::string why) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(why)));
}

void FillProcess(const ProcessUse& process, v1::Process& message) {
  message.set_version(process.version);
  message.set_resident_bytes(process.resident_bytes);
  message.set_descriptors(process.descriptors);
  message.set_descriptor_limit(process.descriptor_limit);
  const auto used = std::chrono::floor<std::chrono::microseconds>(process.processor_time);
  message.set_processor_us(static_cast<std::uint64_t>(used.count()));
}

}  // namespace

grpc::Status ToStatus(const Error& error) { return {CodeOf(error.code), error.message}; }

v1::ObjectState ToProto(protocol::Presence presence) {
  switch (presence) {
    case protocol::Presence::kAbsent:
      return v1::OBJECT_STATE_ABSENT;
    case protocol::Presence::kPartial:
      return v1::OBJECT_STATE_PARTIAL;
    case protocol::Presence::kComplete:
      return v1::OBJECT_STATE_COMPLETE;
    case protocol::Presence::kDeleted:
      return v1::OBJECT_STATE_DELETED;
    case protocol::Presence::kLost:
      return v1::OBJECT_STATE_LOST;
    case protocol::Presence::kFailed:
      return v1::OBJECT_STATE_FAILED;
  }
  return v1::OBJECT_STATE_UNSPECIFIED;
}

v1::Object ToProto(const Known& known) {
  const protocol::ObjectView& view = known.view;
  v1::Object message;
  message.set_object_id(std::string(view.object.view()));
  message.set_state(ToProto(known.presence));
  message.set_size_bytes(view.size_bytes);
  message.set_name(ShownText(protocol::NameIn(view.metadata, view.object)));
  // A failed object has its error there.
  if (!known.why) {
    message.set_metadata(std::string(protocol::UsersPart(view.metadata)));
    const auto dtype = protocol::ElementsIn(view.metadata);
    if (dtype) message.set_dtype(std::string(Name(*dtype)));
  }
  message.set_in_directory(view.inlined);
  for (const auto& holder : view.holders) {
    auto& added = *message.add_holders();
    added.set_node(holder.node_name);
    added.set_complete(holder.complete);
    added.set_valid_bytes(holder.valid_bytes);
  }
  for (const auto& transfer : view.transfers) {
    auto& added = *message.add_transfers();
    added.set_from_node(transfer.from_name);
    added.set_to_node(transfer.to_name);
    added.set_valid_bytes(transfer.valid_bytes);
  }
  for (const auto& waiter : view.waiters) {
    auto& added = *message.add_waiters();
    added.set_node(waiter.node_name);
    added.set_why(waiter.why);
  }
  message.set_ever_owned(view.ever_owned);
  message.set_owner_nodes(view.owners);
  if (known.why) {
    message.mutable_failure()->set_code(std::string(Name(known.why->code)));
    message.mutable_failure()->set_message(known.why->message);
  }
  return message;
}

v1::Node ToProto(const protocol::NodeView& view) {
  v1::Node message;
  message.set_name(view.node.name);
  message.set_address(view.node.address);
  message.set_alive(view.alive);
  message.set_memory_bytes(view.usage.memory_bytes);
  message.set_used_bytes(view.usage.used_bytes);
  message.set_corrupt_blocks(view.usage.corrupt_blocks);
  message.set_disk_bytes(view.usage.disk_bytes);
  message.set_disk_used_bytes(view.usage.disk_used_bytes);
  message.set_link_bytes_per_second(view.bytes_per_second);
  const auto round_trip = std::chrono::ceil<std::chrono::microseconds>(view.round_trip);
  message.set_round_trip_us(static_cast<std::uint64_t>(round_trip.count()));
  const auto rate_age = std::chrono::ceil<std::chrono::microseconds>(view.rate_age);
  message.set_rate_age_us(static_cast<std::uint64_t>(rate_age.count()));
  FillProcess(view.usage.process, *message.mutable_process());
  return message;
}

v1::Shard ToProto(const protocol::ShardView& view) {
  v1::Shard message;
  message.set_object_count(view.objects);
  message.set_inline_bytes(view.inline_bytes);
  message.set_inline_limit_bytes(view.inline_total_bytes);
  message.set_most_queued_bytes(view.queues.most_bytes);
  message.set_most_queued_node(view.queues.most_node);
  message.set_queue_limit_bytes(view.queues.limit_bytes);
  FillProcess(view.process, *message.mutable_process());
  return message;
}

Result<std::vector<ObjectId>> ReadIds(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  if (ids.empty() || ids.size() > kMaxObjects) {
    return Invalid(
        fmt::format("object_ids has {} ids: 1 to {} are allowed", ids.size(), kMaxObjects));
  }
  std::vector<ObjectId> objects;
  for (const std::string& bytes : ids) {
    const auto object = ObjectId::FromBytes(bytes);
    if (!object) {
      return Invalid(fmt::format("object_ids[{}] has {} bytes: an object id has {}", objects.size(),
                                 bytes.size(), ObjectId::kBytes));
    }
    objects.push_back(*object);
  }
  return objects;
}

Result<protocol::PageRequest> ReadPage(const v1::StatusRequest& request) {
  protocol::PageRequest page;
  if (!request.after_object_id().empty()) {
    const auto after = ObjectId::FromBytes(request.after_object_id());
    if (!after) {
      return Invalid(fmt::format("after_object_id has {} bytes: an object id has {}",
                                 request.after_object_id().size(), ObjectId::kBytes));
    }
    page.after = *after;
  }
  if (request.max_objects() > 0) page.limit = std::min(request.max_objects(), page.limit);
  return page;
}

}  // namespace hoplite::admin
