// Folds two ranges of elements into one, at about the speed of memory, with the widest vectors that
// this processor has.
//
// It is told what to compute; what overflow, NaN and rounding give is said in hoplite/reduce.h, and
// is the same bits on every processor. It never allocates, and never touches a byte beyond the
// ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <hoplite/reduce.h>

namespace hoplite::reduce {

// out = a op b, element by element. The three have one size, a multiple of the element's, and any
// alignment. `out` may be the same range as `a` or as `b`, but overlap neither in another way. The
// caller has asked Supports(op, dtype). A mean folds as a sum.
void Fold(Op op, DType dtype, std::span<std::byte> out, std::span<const std::byte> a,
          std::span<const std::byte> b);

// What is left to do with elements into which all sources are folded, `sources` of them: those of a
// mean are divided by that. Once for each element, and never for what is folded on.
void Finish(Op op, DType dtype, std::span<std::byte> elements, std::uint64_t sources);

}  // namespace hoplite::reduce
