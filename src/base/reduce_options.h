// What of a reduction can be known to be wrong before anything is asked.
#pragma once

#include <hoplite/reduce.h>
#include <hoplite/result.h>

namespace hoplite {

// What is wrong with the request itself: invalid_argument naming it (no sources, one twice, the
// target among them, num_objects 0 or too large, op, dtype and folded_bytes that don't fit,
// fixed_order with less than all sources or with a forced degree above 1).
Result<void> CheckReduceOptions(const ReduceOptions& options);

}  // namespace hoplite
