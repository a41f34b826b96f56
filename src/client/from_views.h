// A shard's pictures as public types, for callers that ask the directory without a node between.
#pragma once

#include <hoplite/status.h>

#include "planner/views.h"

namespace hoplite::client {

ObjectInfo ToObjectInfo(const planner::ObjectView& view);
NodeStatus ToNodeStatus(const planner::NodeView& view);
ShardStatus ToShardStatus(const planner::ShardView& view);

}  // namespace hoplite::client
