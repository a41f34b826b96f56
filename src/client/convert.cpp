#include "client/convert.h"

namespace hoplite::client {

ObjectInfo ToObjectInfo(const v1::local::ObjectInfo& message) {
  ObjectInfo info;
  info.id = ObjectId::FromBytes(message.object()).value_or(ObjectId());
  info.size_bytes = message.size();
  info.version = message.version();
  info.metadata = message.metadata();
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
  return info;
}

ClusterStatus ToClusterStatus(const v1::local::ClusterStatus& message) {
  ClusterStatus status;
  for (const auto& node : message.nodes()) {
    status.nodes.push_back({.name = node.name(),
                            .address = node.address(),
                            .alive = node.alive(),
                            .memory_bytes = node.memory_bytes(),
                            .used_bytes = node.used_bytes()});
  }
  for (const auto& object : message.objects()) status.objects.push_back(ToObjectInfo(object));
  return status;
}

}  // namespace hoplite::client
