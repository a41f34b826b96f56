// Shared mappings of a file, such that huge pages of it can be used as such.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace hoplite {

// What the processor translates at a time; a huge page where memory lies in one piece.
inline constexpr std::size_t kSmallPage = 4_KiB;
inline constexpr std::size_t kHugePage = 2_MiB;

// Reserved addresses for a mapping (with MAP_FIXED) of so many bytes, which begin at a multiple of a
// huge page; null if it is smaller than one, or there are none: then the kernel may choose.
void* RoomFor(std::size_t bytes);

// mmap, MAP_SHARED, from the file's first byte on; MAP_FAILED and errno if that fails. From a huge
// page on the mapping begins at a multiple of one: elsewhere the kernel maps a huge page of the file
// as 512 small ones.
void* MapShared(std::size_t bytes, int protection, int descriptor);

}  // namespace hoplite
