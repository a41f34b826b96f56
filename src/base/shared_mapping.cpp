#include "base/shared_mapping.h"

#include <cerrno>
#include <cstdint>

#include <sys/mman.h>

namespace hoplite {

// So much that a huge page begins somewhere in the first part, and the rest is enough. What is too
// much goes back.
void* RoomFor(std::size_t bytes) {
  if (bytes < kHugePage || bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t whole_pages = (bytes + kSmallPage - 1) / kSmallPage * kSmallPage;
  void* const reserved = ::mmap(nullptr, whole_pages + kHugePage, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(reserved);
  const std::size_t before = kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage;
  ::munmap(first, before);
  if (before < kHugePage) ::munmap(first + before + whole_pages, kHugePage - before);
  return first + before;
}

void* MapShared(std::size_t bytes, int protection, int descriptor) {
  void* const room = RoomFor(bytes);
  const int flags = MAP_SHARED | (room != nullptr ? MAP_FIXED : 0);
  void* const mapped = ::mmap(room, bytes, protection, flags, descriptor, 0);
  if (mapped == MAP_FAILED && room != nullptr) {
    const int why = errno;
    ::munmap(room, bytes);
    errno = why;
  }
  return mapped;
}

}  // namespace hoplite
