// How many threads this process can still start. With too few, gRPC waits for ever for its own, deaf
// to signals: so a member asks before it starts.
#pragma once

#include <cstddef>
#include <string>

#include <hoplite/result.h>

namespace hoplite {

// resource_exhausted unless so many threads can be started at this moment.
Result<void> RequireThreads(std::size_t count, const std::string& who);

}  // namespace hoplite
