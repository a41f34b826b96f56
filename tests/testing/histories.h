// How many random histories a test plays.
#pragma once

#include <cstdint>

namespace hoplite::test {

// Each takes five times as long under the address sanitizer, which finds in a few what it would
// find in all: there a quarter is played.
constexpr std::uint32_t Histories(std::uint32_t usually) {
#if __has_feature(address_sanitizer)
  return usually / 4;
#else
  return usually;
#endif
}

}  // namespace hoplite::test
