// Folds element by element with plain scalar code, to compare with; and bits of small floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <hoplite/reduce.h>

namespace hoplite::reduce {

std::vector<std::byte> ReferenceFold(Op op, DType dtype, std::span<const std::byte> a,
                                     std::span<const std::byte> b);

// Each element of a float type divided by a number.
std::vector<std::byte> ReferenceQuotients(DType dtype, std::span<const std::byte> elements,
                                          std::uint64_t by);

// The nearest float16, ties to even.
std::uint16_t Float16Bits(float value);
std::uint16_t BFloat16Bits(float value);

}  // namespace hoplite::reduce
