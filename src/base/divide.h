// Division of whole numbers.
#pragma once

#include <cstdint>

namespace hoplite {

constexpr std::uint64_t DivideUp(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

}  // namespace hoplite
