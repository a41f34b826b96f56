// How much memory this process has, for tests that bound what strangers cost.
#pragma once

#include <cstdint>
#include <fstream>

#include <unistd.h>

namespace hoplite::test {

// The address sanitizer keeps what was freed.
#if __has_feature(address_sanitizer)
inline constexpr bool kMemoryCounts = false;
#else
inline constexpr bool kMemoryCounts = true;
#endif

inline std::uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace hoplite::test
