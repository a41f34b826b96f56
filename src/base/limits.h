// Bounds that several layers hold their callers to.
#pragma once

#include <cstddef>

namespace hoplite {

inline constexpr std::size_t kMaxMetadataBytes = 4096;  // of an object

}  // namespace hoplite
