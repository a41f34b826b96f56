// What is compared to find damage of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hoplite {

// XXH3-64 of a block, by the widest instructions this machine has.
std::uint64_t BlockChecksum(std::span<const std::byte> block);

}  // namespace hoplite
