// RunBroadcast: thousands of virtual nodes around the real directory planner.
#pragma once

#include <hoplite/result.h>

#include "sim/planner_world/options.h"
#include "sim/planner_world/report.h"

namespace hoplite::sim {

// Runs until nothing moves any more. An Error means bad options; a broken property is no Error but
// Report::violation, with the command that replays it.
Result<Report> RunBroadcast(const Options& options);

}  // namespace hoplite::sim
