#include "client/convert.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

namespace hoplite::client {
namespace {

// Bytes that are no id become the id that names nothing.
ObjectId ToId(const std::string& bytes) { return ObjectId::FromBytes(bytes).value_or(ObjectId()); }

std::vector<ObjectId> ToIds(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  std::vector<ObjectId> read;
  read.reserve(static_cast<std::size_t>(ids.size()));
  for (const std::string& bytes : ids) read.push_back(ToId(bytes));
  return read;
}

// The numbers of the bits that are set.
std::vector<std::uint32_t> ToNumbers(std::uint64_t set) {
  std::vector<std::uint32_t> numbers;
  for (; set != 0; set &= set - 1) {
    numbers.push_back(static_cast<std::uint32_t>(std::countr_zero(set)));
  }
  return numbers;
}

}  // namespace

Error ToError(const v1::local::Error& message) {
  const auto code = static_cast<ErrorCode>(message.code());
  const bool known = code >= ErrorCode::kInvalidArgument && code <= kLastErrorCode;
  return {known ? code : ErrorCode::kInternal, message.message()};
}

ObjectInfo ToObjectInfo(const v1::local::ObjectInfo& message) {
  ObjectInfo info;
  info.id = ToId(message.object());
  info.size_bytes = message.size();
  info.version = message.version();
  info.metadata = message.metadata();
  if (const auto dtype = static_cast<DType>(message.dtype()); SizeOf(dtype) != 0)
    info.dtype = dtype;
  if (message.has_failure()) {
    info.failure =
        Error(static_cast<ErrorCode>(message.failure().code()), message.failure().message());
  }
  info.in_directory = message.in_directory();
  for (const auto& holder : message.holders()) {
    info.holders.push_back({.node = holder.node(),
                            .complete = holder.complete(),
                            .valid_bytes = holder.valid_bytes()});
  }
  for (const auto& transfer : message.transfers()) {
    info.transfers.push_back({.object = info.id,
                              .from = transfer.from(),
                              .to = transfer.to(),
                              .valid_bytes = transfer.valid_bytes()});
  }
  for (const auto& waiter : message.waiters()) {
    info.waiters.push_back({.node = waiter.node(), .why = waiter.why()});
  }
  for (const auto& slot : message.slots()) {
    info.slots.push_back({.slot = slot.slot(),
                          .parent = slot.parent(),
                          .node = slot.node(),
                          .inputs = ToIds(slot.inputs()),
                          .valid_bytes = slot.valid_bytes(),
                          .parents = {slot.parents().begin(), slot.parents().end()},
                          .stripes = ToNumbers(slot.stripes())});
  }
  info.ever_owned = message.ever_owned();
  info.owners = message.owners();
  if (message.has_grace_us()) {
    const auto us = std::chrono::microseconds(message.grace_us());
    info.grace = std::chrono::ceil<std::chrono::milliseconds>(us);
  }
  if (message.has_as_register()) {
    const auto& held = message.as_register();
    info.as_register =
        RegisterInfo{.number = {held.number().incarnation(), held.number().sequence()},
                     .value = held.value(),
                     .writer = held.writer(),
                     .nodes = held.nodes()};
  }
  return info;
}

NodeStatus ToNodeStatus(const v1::local::ClusterStatus::Node& message) {
  return {.name = message.name(),
          .address = message.address(),
          .alive = message.alive(),
          .memory_bytes = message.memory_bytes(),
          .used_bytes = message.used_bytes(),
          .bytes_per_second = message.bytes_per_second(),
          .round_trip = std::chrono::microseconds(message.round_trip_us()),
          .corrupt_blocks = message.corrupt_blocks()};
}

ShardStatus ToShardStatus(const v1::local::ClusterStatus::Shard& message) {
  ShardStatus status{.objects = message.objects(),
                     .inline_bytes = message.inline_bytes(),
                     .most_queued_bytes = message.most_queued_bytes(),
                     .most_queued_node = message.most_queued_node(),
                     .inline_total_bytes = message.inline_total_bytes(),
                     .session_queue_bytes = message.session_queue_bytes()};
  for (const auto& moves : message.moves()) status.moves.push_back({moves.reason(), moves.count()});
  return status;
}

void AddShard(const v1::local::ClusterStatus& message, ClusterStatus& status) {
  const bool first = status.nodes.empty();
  status.shards.push_back(ToShardStatus(message.shard()));
  if (!first) return;
  for (const auto& node : message.nodes()) status.nodes.push_back(ToNodeStatus(node));
  const auto& clients = message.clients();
  status.clients = {.clients = clients.clients(),
                    .requests = clients.requests(),
                    .pins = clients.pins(),
                    .most_requests = clients.most_requests(),
                    .most_pins = clients.most_pins(),
                    .requests_per_client = clients.requests_per_client(),
                    .pins_per_client = clients.pins_per_client(),
                    .owned = clients.owned(),
                    .max_owned = clients.max_owned(),
                    .most_held_bytes = clients.most_held_bytes(),
                    .most_held_objects = clients.most_held_objects(),
                    .quota_bytes = clients.quota_bytes(),
                    .quota_objects = clients.quota_objects()};
}

ReduceOutcome ToReduceOutcome(const v1::local::Reduced& message, const ObjectId& target) {
  return {.target = target, .used = ToIds(message.used()), .unused = ToIds(message.unused())};
}

DrainOutcome ToDrainOutcome(const v1::local::Drained& message) {
  DrainOutcome outcome{
      .handed_on = message.handed_on(), .left_count = message.left_count(), .left = {}};
  for (const v1::local::Drained::Left& left : message.left()) {
    outcome.left.push_back({ToId(left.object()), ToError(left.why())});
  }
  return outcome;
}

}  // namespace hoplite::client
