// Between pictures of a shard's state as messages, which the directory's protocol and the local one
// contain, and as own types. What comes from the wire is checked, as in directory_messages.h.
#pragma once

#include <hoplite/result.h>

#include "hoplite/v1/status.pb.h"
#include "protocol/views.h"

namespace hoplite::wire {

v1::NodeView ToProto(const protocol::NodeView& view);
v1::ShardView ToProto(const protocol::ShardView& view);
v1::ObjectView ToProto(const protocol::ObjectView& view);
v1::StatusReply ToProto(const protocol::StatusPage& status);
v1::StatusRequest ToProto(const protocol::PageRequest& page);

Result<protocol::NodeView> FromProto(const v1::NodeView& message);
Result<protocol::ShardView> FromProto(const v1::ShardView& message);
Result<protocol::ObjectView> FromProto(const v1::ObjectView& message);
Result<protocol::StatusPage> FromProto(const v1::StatusReply& message);
Result<protocol::PageRequest> FromProto(const v1::StatusRequest& message);

}  // namespace hoplite::wire
