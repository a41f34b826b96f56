// Bytes to put, and how tests compare them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <hoplite/buffer.h>
#include <hoplite/result.h>

namespace hoplite::test {

// Bytes that differ from page to page and from one to the next.
inline std::vector<std::byte> Pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + (i >> 12));
  return bytes;
}

inline bool Equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}
inline bool Equal(const Result<Buffer>& got, std::span<const std::byte> bytes) {
  return got && Equal(got->bytes(), bytes);
}

// Of what a get gave, or of its error.
inline std::string Text(const Result<Buffer>& got) {
  return got ? std::string(got->view()) : got.error().ToString();
}

// The code of an error; none if the result is a value.
template <typename T>
std::optional<ErrorCode> CodeOf(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

}  // namespace hoplite::test
