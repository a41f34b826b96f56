// How many random histories a test plays, and from which seed on.
#pragma once

#include <cstdint>
#include <cstdlib>

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

struct Seeds {
  std::uint32_t first;
  std::uint32_t count;
};

// What this run plays of the seeds from `first` on: all of them, or the K-th eighth if
// `HOPLITE_EIGHTH=K` says so, which is enough to say something of them from a hundred on.
// scripts/test.sh takes another eighth for each commit.
inline Seeds SeedsOf(std::uint32_t first, std::uint32_t usually) {
  const std::uint32_t all = Histories(usually);
  const char* eighth = std::getenv("HOPLITE_EIGHTH");
  if (eighth == nullptr || all < 100) return {first, all};
  const std::uint32_t part = static_cast<std::uint32_t>(std::atoi(eighth)) % 8;
  return {first + part * (all / 8), all / 8};
}

}  // namespace hoplite::test
