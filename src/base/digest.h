// A 64-bit fingerprint of a state, by which an exhaustive search knows the states that it has seen.
#pragma once

#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/time.h"

namespace hoplite {

class Digest {
 public:
  Digest& Add(std::uint64_t value) {
    state_ ^= value + 0x9e3779b97f4a7c15u + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdu;
    state_ ^= state_ >> 33;
    return *this;
  }
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  Digest& Add(T value) {
    return Add(static_cast<std::uint64_t>(value));
  }
  Digest& Add(const Stamp& stamp) { return Add(stamp.incarnation).Add(stamp.sequence); }
  Digest& Add(const ObjectId& id) { return Add(id.Hash()); }
  Digest& Add(Duration duration) { return Add(static_cast<std::uint64_t>(duration.count())); }
  Digest& Add(Time time) {
    return Add(static_cast<std::uint64_t>(time.time_since_epoch().count()));
  }
  Digest& Add(std::string_view text) {
    for (const char c : text) Add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return Add(text.size());
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3u;
};

}  // namespace hoplite
