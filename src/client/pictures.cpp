#include "client/pictures.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/process_use.h"
#include "base/shown_text.h"
#include "protocol/elements.h"
#include "protocol/failure.h"
#include "protocol/object_name.h"

namespace hoplite::client {
namespace {

// The numbers of the bits that are set.
std::vector<std::uint32_t> ToNumbers(std::uint64_t set) {
  std::vector<std::uint32_t> numbers;
  for (; set != 0; set &= set - 1) {
    numbers.push_back(static_cast<std::uint32_t>(std::countr_zero(set)));
  }
  return numbers;
}

SlotInfo ToSlotInfo(const protocol::SlotView& view) {
  return {.slot = view.slot,
          .parent = view.parents.empty() ? 0 : view.parents.front(),
          .node = view.node_name,
          .inputs = view.inputs,
          .valid_bytes = view.valid_bytes,
          .parents = view.parents,
          .stripes = ToNumbers(view.stripes)};
}

void AddMembers(const protocol::ShardMembers& members, ShardStatus& status) {
  status.held_by = members.holder;
  status.silent = members.silent;
  for (const std::string& member : members.addresses) {
    const bool silent = std::ranges::count(members.silent, member) > 0;
    if (member != members.holder && !silent) status.stand_by.push_back(member);
  }
}

// What its creator gave with it, or the error in its place.
void AddMetadata(const std::string& noted, ObjectInfo& info) {
  if (const auto failure = protocol::FailureIn(noted)) {
    info.failure = Error(failure->code, ShownText(failure->message));
    return;
  }
  info.metadata = protocol::UsersPart(noted);
  info.dtype = protocol::ElementsIn(noted);
}

}  // namespace

ObjectInfo ToObjectInfo(const protocol::ObjectView& view) {
  ObjectInfo info;
  info.id = view.object;
  info.name = ShownText(protocol::NameIn(view.metadata, view.object));
  info.size_bytes = view.size_bytes;
  if (view.version) info.version = ToString(view.version);
  AddMetadata(view.metadata, info);
  info.in_directory = view.inlined;
  for (const protocol::HolderView& holder : view.holders) {
    info.holders.push_back({holder.node_name, holder.complete, holder.valid_bytes});
  }
  for (const protocol::TransferView& transfer : view.transfers) {
    info.transfers.push_back(
        {view.object, transfer.from_name, transfer.to_name, transfer.valid_bytes});
  }
  for (const protocol::WaiterView& waiter : view.waiters) {
    info.waiters.push_back({waiter.node_name, waiter.why});
  }
  for (const protocol::SlotView& slot : view.slots) info.slots.push_back(ToSlotInfo(slot));
  info.ever_owned = view.ever_owned;
  info.owners = view.owners;
  if (view.grace) info.grace = std::chrono::ceil<std::chrono::milliseconds>(*view.grace);
  if (const auto& held = view.as_register) {
    info.as_register = RegisterInfo{.number = {held->version.incarnation, held->version.sequence},
                                    .value = held->value,
                                    .writer = held->writer,
                                    .nodes = held->nodes};
  }
  return info;
}

ProcessStatus ToProcessStatus(const ProcessUse& process) {
  return {.version = process.version,
          .resident_bytes = process.resident_bytes,
          .descriptors = process.descriptors,
          .descriptor_limit = process.descriptor_limit,
          .processor_time = std::chrono::floor<std::chrono::microseconds>(process.processor_time)};
}

NodeStatus ToNodeStatus(const protocol::NodeView& view) {
  using std::chrono::microseconds;
  return {.name = view.node.name,
          .address = view.node.address,
          .alive = view.alive,
          .memory_bytes = view.usage.memory_bytes,
          .used_bytes = view.usage.used_bytes,
          .bytes_per_second = view.bytes_per_second,
          .rate_age = std::chrono::ceil<microseconds>(view.rate_age),
          .round_trip = std::chrono::ceil<microseconds>(view.round_trip),
          .corrupt_blocks = view.usage.corrupt_blocks,
          .disk_bytes = view.usage.disk_bytes,
          .disk_used_bytes = view.usage.disk_used_bytes,
          .process = ToProcessStatus(view.usage.process)};
}

ShardStatus ToShardStatus(const protocol::ShardView& view) {
  ShardStatus status{.objects = view.objects,
                     .inline_bytes = view.inline_bytes,
                     .most_queued_bytes = view.queues.most_bytes,
                     .most_queued_node = view.queues.most_node,
                     .inline_total_bytes = view.inline_total_bytes,
                     .session_queue_bytes = view.queues.limit_bytes,
                     .process = ToProcessStatus(view.process)};
  for (const protocol::MovesView& moves : view.moves) {
    status.moves.push_back({moves.reason, moves.count});
  }
  AddMembers(view.members, status);
  return status;
}

}  // namespace hoplite::client
