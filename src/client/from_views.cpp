#include "client/from_views.h"

#include "client/convert.h"
#include "node/local/local_convert.h"

// By way of the local protocol's messages, so that each field is named in one place for each way.

namespace hoplite::client {

ObjectInfo ToObjectInfo(const protocol::ObjectView& view) {
  v1::local::ObjectInfo message;
  node::FillObject(view, message);
  return ToObjectInfo(message);
}

NodeStatus ToNodeStatus(const protocol::NodeView& view) {
  v1::local::ClusterStatus::Node message;
  node::FillNode(view, message);
  return ToNodeStatus(message);
}

ShardStatus ToShardStatus(const protocol::ShardView& view) {
  v1::local::ClusterStatus::Shard message;
  node::FillShard(view, message);
  return ToShardStatus(message);
}

}  // namespace hoplite::client
