// From own types to the public messages, and from what programs send to own types.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <google/protobuf/repeated_field.h>
#include <grpcpp/support/status.h>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "admin/questions.h"
#include "hoplite/admin/v1/admin.pb.h"
#include "protocol/presence.h"
#include "protocol/views.h"

namespace hoplite::admin {

// Of one call.
inline constexpr int kMaxObjects = 1000;
// A client of gRPC takes 4 MiB unless it is told otherwise.
inline constexpr std::size_t kMaxAnswerBytes = 3 * 1024 * 1024;

grpc::Status ToStatus(const Error& error);
v1::ObjectState ToProto(protocol::Presence presence);
v1::Object ToProto(const Known& known);
v1::Node ToProto(const protocol::NodeView& view);
// But for its place among the others.
v1::Shard ToProto(const protocol::ShardView& view);

//   invalid_argument  none, too many, or one that is no id: says which
Result<std::vector<ObjectId>> ReadIds(const google::protobuf::RepeatedPtrField<std::string>& ids);
//   invalid_argument  the id behind which the page begins is none
Result<protocol::PageRequest> ReadPage(const v1::StatusRequest& request);

}  // namespace hoplite::admin
