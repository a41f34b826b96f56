// What a node decides, with one rule broken: a planted fault.
#pragma once

#include <memory>

#include "node/core/decisions.h"
#include "sim/node_world/planted_fault.h"

namespace hoplite::node_world {

// The product's own where the fault is none of theirs.
std::shared_ptr<const node::Decisions> DecisionsWith(PlantedFault fault);

}  // namespace hoplite::node_world
