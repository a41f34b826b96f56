// What a process can still open. Below a member's need Asio throws and gRPC aborts in the middle of
// its start, on threads of theirs: so it is asked before.
#pragma once

#include <cstddef>
#include <string>

#include <hoplite/result.h>

namespace hoplite {

// resource_exhausted unless so many descriptors can be opened at this moment.
Result<void> RequireDescriptors(std::size_t count, const std::string& who);

}  // namespace hoplite
