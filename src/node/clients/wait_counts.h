// How many calls of clients wait at this node, by what they wait for. Main loop only.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include <hoplite/object_id.h>

#include "node/core/context.h"
#include "node/core/wait_reason.h"

namespace hoplite::node {

// What the calls wait for that are under way for this object.
WaitReason ReasonOf(const ObjectEntry& entry);

using WaitCounts = std::array<std::size_t, kWaitReasons>;  // by WaitReason
// Of the next objects by id, at most so many, of which `behind` is the last. False: that were all.
bool AddWaits(const ObjectTable& table, WaitCounts& counts, std::optional<ObjectId>& behind,
              std::size_t most);

}  // namespace hoplite::node
