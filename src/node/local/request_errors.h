// What a client's request is refused with, in words that several requests share.
#pragma once

#include <cstdint>
#include <string>

#include <hoplite/result.h>

namespace hoplite::node {

// The request says something that can't be: an invalid_argument.
Error InvalidRequest(std::string what);

// One client has `limit` of them already: a resource_exhausted.
Error TooMany(const char* what, std::uint32_t limit);

}  // namespace hoplite::node
