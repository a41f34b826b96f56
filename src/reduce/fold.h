// Folds two ranges of elements into one, at about the speed of memory, with the widest vectors that
// this processor has.
//
// It is told what to compute; what overflow, NaN and rounding give is said in hoplite/reduce.h, and
// is the same bits on every processor. It never allocates, and never touches a byte beyond the
// ranges.
#pragma once

#include <cstddef>
#include <span>

#include <hoplite/reduce.h>

namespace hoplite::reduce {

// out = a op b, element by element. The three have one size, a multiple of the element's, and any
// alignment. `out` may be the same range as `a` or as `b`, but overlap neither in another way. The
// caller has asked Supports(op, dtype).
void Fold(Op op, DType dtype, std::span<std::byte> out, std::span<const std::byte> a,
          std::span<const std::byte> b);

}  // namespace hoplite::reduce
