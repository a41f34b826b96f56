// Copies large pieces of memory front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace hoplite::client {

// Copies all of `from` to the start of `to`, by two threads if it is large and the machine has
// them. Tells, on the calling thread and only now and then, how far the copied prefix reaches;
// stops when that answers false. Destinations of large copies are not kept in the cache.
void CopyForward(std::span<std::byte> to, std::span<const std::byte> from,
                 const std::function<bool(std::uint64_t prefix)>& on_prefix);

}  // namespace hoplite::client
