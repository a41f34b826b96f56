// How many descriptors this process can still open. With too few, Asio throws in the
// middle of a member's start: so a member asks first.
#pragma once

#include <cstddef>
#include <string>

#include <hoplite/result.h>

namespace hoplite {

// resource_exhausted unless so many descriptors can be opened at this moment.
Result<void> RequireDescriptors(std::size_t count, const std::string& who);

}  // namespace hoplite
