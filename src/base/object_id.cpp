#include <cerrno>
#include <cstring>

#include <sys/random.h>
#include <xxhash.h>

#include <hoplite/object_id.h>

#include "base/check.h"
#include "base/object_names.h"

namespace hoplite {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ObjectId ObjectId::Random() {
  std::array<std::uint8_t, kBytes> bytes;
  std::size_t filled = 0;
  while (filled < kBytes) {
    const ssize_t got = ::getrandom(bytes.data() + filled, kBytes - filled, 0);
    HOPLITE_CHECK(got > 0 || errno == EINTR, "the operating system gives no random bytes");
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return ObjectId(bytes);
}

ObjectId ObjectId::FromName(std::string_view name) {
  const ObjectId id = IdOfName(name);
  RememberName(id, name);
  return id;
}

ObjectId IdOfName(std::string_view name) {
  const XXH128_hash_t wide = XXH3_128bits(name.data(), name.size());
  const XXH64_hash_t tail = XXH3_64bits_withSeed(name.data(), name.size(), 20);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, wide);
  std::array<std::uint8_t, ObjectId::kBytes> bytes;
  std::memcpy(bytes.data(), canonical.digest, 16);
  for (int i = 0; i < 4; ++i) bytes[16 + i] = static_cast<std::uint8_t>(tail >> (24 - 8 * i));
  return ObjectId(bytes);
}

Result<ObjectId> ObjectId::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 "an object id has 20 bytes, not " + std::to_string(bytes.size())));
  }
  std::array<std::uint8_t, kBytes> raw;
  std::memcpy(raw.data(), bytes.data(), kBytes);
  return ObjectId(raw);
}

Result<ObjectId> ObjectId::Parse(std::string_view text) {
  constexpr std::string_view kNamePrefix = "name:";
  if (text.starts_with(kNamePrefix)) return FromName(text.substr(kNamePrefix.size()));
  std::array<std::uint8_t, kBytes> raw;
  bool valid = text.size() == 2 * kBytes;
  for (std::size_t i = 0; valid && i < kBytes; ++i) {
    const int high = DigitValue(text[2 * i]);
    const int low = DigitValue(text[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    raw[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (!valid) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 "'" + std::string(text.substr(0, 64)) +
                                     "' is no object id: 40 hexadecimal digits or name:TEXT"));
  }
  return ObjectId(raw);
}

std::string ObjectId::ToHex() const {
  std::string hex;
  hex.reserve(2 * kBytes);
  for (const std::uint8_t byte : bytes_) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

std::string ObjectId::ToShortString() const { return ToHex().substr(0, 8); }

std::uint64_t ObjectId::Hash() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

}  // namespace hoplite
