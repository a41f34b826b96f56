#include "client/segment_map.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hoplite::client {

SegmentMap::SegmentMap(std::span<std::byte> bytes, std::shared_ptr<void> owner)
    : bytes_(bytes), owner_(std::move(owner)) {}

Result<SegmentMap> SegmentMap::Map(int descriptor, Access access) {
  struct stat file{};
  void* memory = MAP_FAILED;
  if (::fstat(descriptor, &file) == 0) {
    const int protection = access == Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
    memory = ::mmap(nullptr, static_cast<std::size_t>(file.st_size), protection, MAP_SHARED,
                    descriptor, 0);
  }
  const int error = errno;
  ::close(descriptor);
  if (memory == MAP_FAILED) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted,
                                 fmt::format("mapping the node's memory: {}", strerror(error))));
  }
  const auto size = static_cast<std::size_t>(file.st_size);
  ::madvise(memory, size, MADV_DONTFORK);
  return SegmentMap({static_cast<std::byte*>(memory), size},
                    std::shared_ptr<void>(memory, [size](void* start) { ::munmap(start, size); }));
}

SegmentMap SegmentMap::Of(std::span<std::byte> bytes, std::shared_ptr<void> owner) {
  return SegmentMap(bytes, std::move(owner));
}

Result<std::span<std::byte>> SegmentMap::Range(std::uint64_t offset, std::uint64_t size) const {
  if (offset <= bytes_.size() && size <= bytes_.size() - offset) {
    return bytes_.subspan(offset, size);
  }
  return std::unexpected(
      Error(ErrorCode::kProtocol, fmt::format("the node names bytes {} to {} of a segment of {}",
                                              offset, offset + size, bytes_.size())));
}

}  // namespace hoplite::client
