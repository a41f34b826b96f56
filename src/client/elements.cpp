#include <cstdint>

#include <fmt/format.h>

#include <hoplite/elements.h>

namespace hoplite::detail {

Result<void> CheckElements(std::span<const std::byte> bytes, std::size_t size,
                           std::size_t alignment) {
  if (bytes.size() % size != 0) {
    return Unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("{} bytes are no whole elements of {} bytes", bytes.size(), size)));
  }
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment != 0) {
    return Unexpected(Error(
        ErrorCode::kInvalidArgument,
        fmt::format("elements of {} bytes can't begin at an address that is no multiple of {}",
                    size, alignment)));
  }
  return {};
}

}  // namespace hoplite::detail
