// Copies large pieces of memory front to back, with the checksums of their blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace hoplite::client {

// [0, prefix) is copied; checksums are those of the blocks that became whole since the last time.
using OnPrefix =
    std::function<bool(std::uint64_t prefix, std::span<const std::uint64_t> checksums)>;

// Copies all of `from` to the start of `to`, by two threads if it is large and the machine has
// them. What was copied is still in the cache when its checksum is computed, so that costs little.
// Tells, on the calling thread, now and then and at the end, how far it came; stops when that
// answers false. block_bytes: a power of two.
void CopyForward(std::span<std::byte> to, std::span<const std::byte> from,
                 std::uint32_t block_bytes, const OnPrefix& on_prefix);

}  // namespace hoplite::client
