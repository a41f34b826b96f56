// What is known of many objects, part after part.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>
#include <hoplite/status.h>

#include "base/time.h"
#include "client/connection.h"

namespace hoplite::client {

// Of as many as one request takes, and how to read each answer.
local::Request InfoOf(std::span<const ObjectId> ids);
Result<ObjectInfo> ReadInfo(const local::Infos::Got& got);

// Nobody has all of one, as far as its shard can tell: it does not come any more.
bool IsLost(const Result<ObjectInfo>& info);

// One answer per id, in their order.
std::vector<Result<ObjectInfo>> AskForInfos(Connection& connection, std::span<const ObjectId> ids,
                                            Time deadline);

}  // namespace hoplite::client
