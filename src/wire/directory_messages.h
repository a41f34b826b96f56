// Between the directory's protobuf messages and own types.
//
// What comes from the wire is checked here, once: ids of 20 bytes, layouts that are possible, marks
// that fit them, known values of enums, lengths within their limits. An error names the field.
// Beyond this point nobody checks a length again. Marks without a layout beside them (Want,
// GrantClosed, Progress) are checked for their number only: whoever has the layout compares.
#pragma once

#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "hoplite/v1/directory.pb.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"
#include "wire/directory_session.h"
#include "wire/pictures.h"

namespace hoplite::wire {

v1::Hello ToProto(const Hello& hello);
v1::Welcome ToProto(const Welcome& welcome);
v1::Ended ToProto(const Ended& ended);
v1::NodeEvent ToProto(const protocol::NodeEvent& event);
v1::NodeAction ToProto(const protocol::NodeAction& action);
v1::NodeMessage ToProto(const NodeMessage& message);
v1::ShardMessage ToProto(const ShardMessage& message);
v1::Failure ToProto(const NoAnswer& why);

Result<Hello> FromProto(const v1::Hello& message);
Result<Welcome> FromProto(const v1::Welcome& message);
Result<Ended> FromProto(const v1::Ended& message);
// The non-const ones take long byte strings out of the message.
Result<protocol::NodeEvent> FromProto(v1::NodeEvent& message);
Result<protocol::NodeAction> FromProto(v1::NodeAction& message);
Result<NodeMessage> FromProto(v1::NodeMessage& message);
Result<ShardMessage> FromProto(v1::ShardMessage& message);
Result<NoAnswer> FromProto(const v1::Failure& message);

}  // namespace hoplite::wire
