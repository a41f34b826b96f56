// Patch: the elements of a part that changed since the last version, each as the number of those
// before it that did not, and its new bytes. Knows no version. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <hoplite/result.h>

namespace hoplite::client {

// In bytes: of one element of this dtype, or of something that divides the part all the same.
std::size_t ElementBytes(std::string_view dtype, std::size_t part_bytes);
// What makes of the old bytes the new ones, which are as many; none: it takes more than `most` bytes.
std::optional<std::string> PatchOf(std::span<const std::byte> old_bytes,
                                   std::span<const std::byte> new_bytes, std::size_t element_bytes,
                                   std::size_t most);
//   invalid_argument  it is no patch of so many elements
Result<void> Apply(std::span<const std::byte> patch, std::size_t element_bytes,
                   std::span<std::byte> bytes);

}  // namespace hoplite::client
