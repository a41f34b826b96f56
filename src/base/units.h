// Byte literals: 64_KiB, 1_GiB.
#pragma once

#include <cstdint>

namespace hoplite {

constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }

}  // namespace hoplite
