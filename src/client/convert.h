// Messages of the local protocol as public types, and ids as its bytes.
#pragma once

#include <string>

#include <hoplite/drain.h>
#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/status.h>

#include "hoplite/v1/local.pb.h"

namespace hoplite::client {

inline std::string IdBytes(const ObjectId& id) { return std::string(id.view()); }
// A code that this library does not know becomes internal.
Error ToError(const v1::local::Error& message);
ObjectInfo ToObjectInfo(const v1::local::ObjectInfo& message);
NodeStatus ToNodeStatus(const v1::local::ClusterStatus::Node& message);
ShardStatus ToShardStatus(const v1::local::ClusterStatus::Shard& message);
// A shard's first page adds what the shard says of itself, that of the first one also the nodes.
void AddShard(const v1::local::ClusterStatus& message, ClusterStatus& status);
DrainOutcome ToDrainOutcome(const v1::local::Drained& message);
ReduceOutcome ToReduceOutcome(const v1::local::Reduced& message, const ObjectId& target);

}  // namespace hoplite::client
