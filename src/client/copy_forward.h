// Copies large pieces of memory front to back, with the checksums of their blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "client/pieces.h"

namespace hoplite::client {

// [0, prefix) is copied; checksums are those of the blocks that became whole since the last time.
using OnPrefix =
    std::function<bool(std::uint64_t prefix, std::span<const std::uint64_t> checksums)>;

// Copies all of `from` to the start of `to`, by two threads if it is large and the machine has
// them. What was copied is still in the cache when its checksum is computed, so that costs little.
// Tells, on the calling thread, now and then and at the end, how far it came; stops when that
// answers false, and soon after somebody has set `stop`. block_bytes: a power of two.
void CopyForward(std::span<std::byte> to, const Pieces& from, std::uint32_t block_bytes,
                 const OnPrefix& on_prefix, const std::atomic<bool>* stop = nullptr);

}  // namespace hoplite::client
