// ObjectId: the name of an object, 20 bytes, handed around freely, also before the object exists.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

// A plain value, ordered and hashable: std::unordered_map takes it as a key.
class HOPLITE_EXPORT ObjectId {
 public:
  static constexpr std::size_t kBytes = 20;  // of an id

  constexpr ObjectId() = default;  // all zero: names no object
  constexpr explicit ObjectId(const std::array<std::uint8_t, kBytes>& bytes) : bytes_(bytes) {}

  // 160 random bits from the operating system; ids of different processes don't collide.
  static ObjectId Random();
  // The same text gives the same id on every machine (an XXH3 hash).
  static ObjectId FromName(std::string_view name);
  // 20 raw bytes, as they travel on the wire.
  //   invalid_argument  there are more or fewer
  static Result<ObjectId> FromBytes(std::string_view bytes);
  // 40 hexadecimal digits, or "name:TEXT" which means FromName(TEXT).
  //   invalid_argument  it is neither: shows the text
  static Result<ObjectId> Parse(std::string_view text);

  // The 20 raw bytes, as FromBytes takes them: an array, and a view of it.
  constexpr const std::array<std::uint8_t, kBytes>& bytes() const& { return bytes_; }
  constexpr std::array<std::uint8_t, kBytes> bytes() const&& { return bytes_; }
  // The same as bytes(), of a variable; not for people, who read ToHex.
  std::string_view view() const& {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  std::string_view view() const&& = delete;
  std::string ToHex() const;  // 40 hexadecimal digits
  // The first 8 digits, to tell few objects apart; no call or command takes them for an id.
  std::string ToShortString() const;
  // A well-mixed hash, equal on every machine: it chooses the object's directory shard.
  std::uint64_t Hash() const;

  friend constexpr auto operator<=>(const ObjectId&, const ObjectId&) = default;
  friend constexpr bool operator==(const ObjectId&, const ObjectId&) = default;

 private:
  std::array<std::uint8_t, kBytes> bytes_{};
};

// Its ToHex.
HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, const ObjectId& id);

}  // namespace hoplite

template <>
struct std::hash<hoplite::ObjectId> {
  std::size_t operator()(const hoplite::ObjectId& id) const noexcept { return id.Hash(); }
};
