// Fingerprints of messages: all that influences what they will do.
#pragma once

#include "base/digest.h"
#include "planner/words/words.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"

namespace hoplite::sim {

void AddTo(Digest& digest, const planner::EventBody& event);
void AddTo(Digest& digest, const protocol::NodeEvent& event);
void AddTo(Digest& digest, const protocol::NodeAction& action);

}  // namespace hoplite::sim
