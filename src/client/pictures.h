// A shard's pictures as public types.
#pragma once

#include <hoplite/status.h>

#include "protocol/views.h"

namespace hoplite::client {

ObjectInfo ToObjectInfo(const protocol::ObjectView& view);
ProcessStatus ToProcessStatus(const ProcessUse& process);
NodeStatus ToNodeStatus(const protocol::NodeView& view);
ShardStatus ToShardStatus(const protocol::ShardView& view);

}  // namespace hoplite::client
