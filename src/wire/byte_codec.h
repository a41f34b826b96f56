// Little-endian numbers in a bounded run of bytes. A Reader never reads beyond its end: it gives
// zeros from then on and says so in failed().
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace hoplite::wire {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& to) : to_(to) {}

  template <std::unsigned_integral T>
  Writer& Put(T value) {
    return PutBytes(std::as_bytes(std::span(&value, 1)));
  }
  Writer& PutBytes(std::span<const std::byte> bytes) {
    to_.insert(to_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Writer& PutText(std::string_view text) { return PutBytes(std::as_bytes(std::span(text))); }

 private:
  std::vector<std::byte>& to_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : rest_(from) {}

  template <std::unsigned_integral T>
  T Get() {
    T value{};
    const std::span<const std::byte> bytes = GetBytes(sizeof value);
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> GetBytes(std::size_t count) {
    failed_ = failed_ || count > rest_.size();
    if (failed_) return {};
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  std::span<const std::byte> GetRest() { return GetBytes(rest_.size()); }

  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace hoplite::wire
