// What a Put does with the caller's bytes, at the speed of a plain memcpy: each byte is read from
// memory once, for the checksum and the copy together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hoplite::store {

// Objects from here on do not stay in the cache anyhow: CopyBlock then writes around it, which
// spares reading what is overwritten. (Below it a reader finds them in the cache.)
inline constexpr std::uint64_t kBypassCacheFrom = std::uint64_t{32} << 20;

// Copies one block of an object and gives its checksum. Nobody else may change `from` meanwhile:
// the checksum is computed from it, while it passes.
std::uint64_t CopyBlock(std::span<std::byte> to, std::span<const std::byte> from,
                        std::uint64_t object_bytes);

}  // namespace hoplite::store
