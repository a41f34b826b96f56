// What follows a Give frame: the object, the list of those to whom it goes on, and the number of the
// question that it answers, as the shard's own message of the directory.
#pragma once

#include <span>
#include <string>

#include <hoplite/result.h>

#include "protocol/node_action.h"

namespace hoplite::wire {

std::string EncodeGive(const protocol::InlineObject& given);
// `protocol` errors name what was wrong.
Result<protocol::InlineObject> DecodeGive(std::span<const std::byte> bytes);

}  // namespace hoplite::wire
