// One reduction, or allreduce, over a simulated network.
#pragma once

#include <hoplite/result.h>

#include "sim/planner_world/options.h"
#include "sim/planner_world/report.h"

namespace hoplite::sim {

// `options.reduce` is set. A broken property is no error: the report names it and the command that
// replays it.
Result<Report> RunReduce(const Options& options);

}  // namespace hoplite::sim
