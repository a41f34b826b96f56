#include "cli/directory_status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <fmt/format.h>

#include "base/try.h"
#include "directory/grpc_port.h"

namespace hoplite::cli {
namespace {

ObjectInfo ToObjectInfo(const planner::ObjectView& view) {
  ObjectInfo object{.id = view.object,
                    .size_bytes = view.size_bytes,
                    .version = view.version ? ToString(view.version) : "",
                    .metadata = view.metadata,
                    .in_directory = view.inlined};
  for (const auto& holder : view.holders) {
    object.holders.push_back({holder.node_name, holder.complete, holder.valid_bytes});
  }
  for (const auto& transfer : view.transfers) {
    object.transfers.push_back(
        {view.object, transfer.from_name, transfer.to_name, transfer.valid_bytes});
  }
  for (const auto& waiter : view.waiters) object.waiters.push_back({waiter.node_name, waiter.why});
  for (const auto& slot : view.slots) {
    object.slots.push_back({slot.slot, slot.parent, slot.node_name, slot.inputs, slot.valid_bytes});
  }
  return object;
}

// Every node has a session with every shard.
void AddNode(const planner::NodeView& view, std::vector<NodeStatus>& nodes) {
  const auto known = std::ranges::find(nodes, view.node.name, &NodeStatus::name);
  if (known == nodes.end()) {
    nodes.push_back({view.node.name, view.node.address, view.alive, view.usage.memory_bytes,
                     view.usage.used_bytes, view.bytes_per_second,
                     std::chrono::ceil<std::chrono::microseconds>(view.round_trip),
                     view.usage.corrupt_blocks});
  } else {
    known->alive = known->alive && view.alive;
    // A shard hears of the transfers of its own objects only.
    known->bytes_per_second = std::max(known->bytes_per_second, view.bytes_per_second);
    const auto round_trip = std::chrono::ceil<std::chrono::microseconds>(view.round_trip);
    known->round_trip = std::max(known->round_trip, round_trip);
  }
}

Result<directory::StatusView> AskShard(const std::string& address, Duration timeout) {
  Result<directory::StatusView> answer = std::unexpected(
      Error(ErrorCode::kTimeout, fmt::format("the directory shard at {} did not answer", address)));
  asio::io_context loop;
  const auto stay = asio::make_work_guard(loop);
  // Kept until the process ends: gRPC 1.51 now and then frees its completion queue twice when the
  // last channel goes, and this process is about to end anyhow.
  static auto& kept = *new std::vector<decltype(directory::MakeGrpcPort(loop, address))>;
  const auto& port = kept.emplace_back(directory::MakeGrpcPort(loop, address));
  port->Status(timeout, [&answer, &loop](Result<directory::StatusView> view) {
    answer = std::move(view);
    loop.stop();
  });
  // The call has this deadline itself; a second more is for its answer.
  loop.run_for(timeout + std::chrono::seconds(1));
  port->Stop();
  return answer;
}

}  // namespace

Result<ClusterStatus> StatusOfDirectory(const std::vector<std::string>& shards, Duration timeout) {
  ClusterStatus status;
  for (const std::string& shard : shards) {
    TRY_ASSIGN(const auto picture, AskShard(shard, timeout));
    for (const auto& node : picture.first) AddNode(node, status.nodes);
    for (const auto& object : picture.second) status.objects.push_back(ToObjectInfo(object));
  }
  return status;
}

}  // namespace hoplite::cli
