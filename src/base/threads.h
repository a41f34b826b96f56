// How many threads this process can still start. A member asks before it starts, and says how many it
// lacks.
#pragma once

#include <cstddef>
#include <string>

#include <hoplite/result.h>

namespace hoplite {

// resource_exhausted unless so many threads can be started at this moment.
Result<void> RequireThreads(std::size_t count, const std::string& who);

}  // namespace hoplite
