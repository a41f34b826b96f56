// Bounds that several layers hold their callers to.
#pragma once

#include <cstddef>

namespace hoplite {

inline constexpr std::size_t kMaxMetadataBytes = 4096;  // of an object
// Objects up to this size travel to their shard whole; which of them it keeps is its own setting.
inline constexpr std::size_t kMaxInlineBytes = 64 * 1024;

}  // namespace hoplite
