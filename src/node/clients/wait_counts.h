// How many calls of clients wait at this node, by what they wait for. Main loop only.
#pragma once

#include <array>
#include <cstddef>

#include "node/core/context.h"
#include "node/core/wait_reason.h"

namespace hoplite::node {

// What the calls wait for that are under way for this object.
WaitReason ReasonOf(const ObjectEntry& entry);

using WaitCounts = std::array<std::size_t, kWaitReasons>;  // by WaitReason
WaitCounts CountWaits(const ObjectTable& table);

}  // namespace hoplite::node
