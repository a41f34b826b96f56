// Fingerprints of messages: all that influences what they will do.
#pragma once

#include "base/digest.h"
#include "planner/action.h"
#include "planner/event.h"

namespace hoplite::sim {

void AddTo(Digest& digest, const planner::EventBody& event);
void AddTo(Digest& digest, const planner::NodeEvent& event);
void AddTo(Digest& digest, const planner::NodeAction& action);

}  // namespace hoplite::sim
