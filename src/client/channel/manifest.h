// Manifest: which parts a version has, and where in its objects they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/result.h>

namespace hoplite::client {

inline constexpr std::uint64_t kPartAlignment = 64;
// The next multiple of it.
constexpr std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

struct Place {
  std::uint32_t object = 0;  // in the order of the head
  std::uint64_t offset = 0;  // from where that object's parts begin
  std::uint64_t size_bytes = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// Where a part is: its bytes as they were once, and what changed of them since, the oldest first.
struct Lying {
  Place place;
  std::vector<Place> patches = {};
  std::uint32_t element_bytes = 0;  // of patches
  friend bool operator==(const Lying&, const Lying&) = default;
};

struct Manifest {
  std::vector<Part> parts;   // without their bytes
  std::vector<Lying> lying;  // each
  std::string metadata;
};

// With what is before and behind it: what an object begins with, up to its parts.
std::string Encoded(const Manifest& manifest);
// How many bytes of the object lie before its parts, whose first 8 bytes these are.
//   invalid_argument  so many it does not have
Result<std::uint64_t> BytesBeforeParts(std::span<const std::byte> begin,
                                       std::uint64_t object_bytes);
// From the beginning of an object, up to its parts.
//   invalid_argument  it is none, or names places or parts that can't be
Result<Manifest> Decoded(std::span<const std::byte> before_parts);
// The bytes of a part in its object.
//   invalid_argument  they lie beyond its end
Result<std::span<const std::byte>> BytesAt(const Place& place, std::span<const std::byte> object);
Result<void> CheckPlace(const Place& place, std::uint64_t parts_bytes);
Error NoVersion(const std::string& why);

}  // namespace hoplite::client
