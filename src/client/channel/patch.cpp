#include "client/channel/patch.h"

#include <array>
#include <cstdint>
#include <cstring>

#include <hoplite/dtype.h>

#include "client/channel/manifest.h"

namespace hoplite::client {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kWord = sizeof(std::uint64_t);

// The first byte from `at` on, a multiple of the word, whose word differs; the end of the words if none.
std::size_t FirstDifferent(Bytes one, Bytes other, std::size_t at) {
  for (; at + kWord <= one.size(); at += kWord) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, one.data() + at, kWord);
    std::memcpy(&b, other.data() + at, kWord);
    if (a != b) break;
  }
  return at;
}

void AppendNumber(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += static_cast<char>(number | 0x80);
  to += static_cast<char>(number);
}

// Null: it does not end, or is too large for what it counts.
std::optional<std::uint64_t> TakeNumber(Bytes& from) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 63 && !from.empty(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(from.front());
    from = from.subspan(1);
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

// By the names that NumPy and PyTorch give types.
std::size_t BytesByName(std::string_view dtype) {
  std::size_t bytes = 4;
  if (dtype.find("64") != std::string_view::npos || dtype.ends_with("8")) bytes = 8;
  if (dtype.find("16") != std::string_view::npos || dtype.ends_with("2")) bytes = 2;
  if (dtype.find("32") != std::string_view::npos) bytes = 4;
  if (dtype.find("int8") != std::string_view::npos ||
      dtype.find("float8") != std::string_view::npos || dtype.ends_with("1") || dtype == "bool") {
    bytes = 1;
  }
  return bytes;
}

}  // namespace

std::size_t ElementBytes(std::string_view dtype, std::size_t part_bytes) {
  const Result<DType> known = ParseDType(dtype);
  const std::size_t bytes = known ? SizeOf(*known) : BytesByName(dtype);
  return part_bytes % bytes == 0 ? bytes : 1;
}

std::optional<std::string> PatchOf(Bytes old_bytes, Bytes new_bytes, std::size_t element_bytes,
                                   std::size_t most) {
  std::string patch;
  std::size_t next = 0;  // behind the last element that changed, in bytes
  for (std::size_t at = 0; at < new_bytes.size();) {
    if (at % kWord == 0) at = FirstDifferent(old_bytes, new_bytes, at);
    if (at >= new_bytes.size()) break;
    if (std::memcmp(old_bytes.data() + at, new_bytes.data() + at, element_bytes) != 0) {
      AppendNumber(patch, (at - next) / element_bytes);
      patch.append(reinterpret_cast<const char*>(new_bytes.data() + at), element_bytes);
      if (patch.size() > most) return std::nullopt;
      next = at + element_bytes;
    }
    at += element_bytes;
  }
  return patch;
}

Result<void> Apply(Bytes patch, std::size_t element_bytes, std::span<std::byte> bytes) {
  std::size_t at = 0;
  while (!patch.empty()) {
    const std::optional<std::uint64_t> gap = TakeNumber(patch);
    const std::size_t left = bytes.size() - at;
    if (!gap || patch.size() < element_bytes || left < element_bytes ||
        *gap > (left - element_bytes) / element_bytes) {
      return std::unexpected(NoVersion("a patch has elements that its part has not"));
    }
    at += *gap * element_bytes;
    std::memcpy(bytes.data() + at, patch.data(), element_bytes);
    patch = patch.subspan(element_bytes);
    at += element_bytes;
  }
  return {};
}

}  // namespace hoplite::client
