#include "reduce/fold.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/reduce_table.h"

// This file includes itself once for every instruction set; what is under HWY_ONCE comes last.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/fold.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reduce/fold_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace hoplite::reduce::HWY_NAMESPACE {

template <class Kernel>
constexpr hn::Repartition<std::uint8_t, typename Kernel::D> kBytes;

// Loads and stores are of bytes, which have no alignment.
template <class Kernel>
HWY_INLINE void FoldVector(std::uint8_t* out, const std::uint8_t* a, const std::uint8_t* b) {
  const typename Kernel::D lanes;
  const auto folded = Kernel::Fold(hn::BitCast(lanes, hn::LoadU(kBytes<Kernel>, a)),
                                   hn::BitCast(lanes, hn::LoadU(kBytes<Kernel>, b)));
  hn::StoreU(hn::BitCast(kBytes<Kernel>, folded), kBytes<Kernel>, out);
}

// How far ahead memory is prefetched. The processor by itself prefetches page by page, which is too
// late for kernels of many instructions: they then reach half of the bandwidth.
constexpr std::size_t kAheadBytes = 2048;

// Stores go through the cache. Stores that bypass it would save a quarter of the memory traffic
// where the result is large and not in place, but the result is sent on at once, from the cache.
template <class Kernel>
void Run(std::uint8_t* out, const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes) {
  const std::size_t step = hn::Lanes(kBytes<Kernel>);
  std::size_t at = 0;
  for (; at + step <= bytes; at += step) {
    const std::size_t ahead = std::min(at + kAheadBytes, bytes);
    hwy::Prefetch(a + ahead);
    hwy::Prefetch(b + ahead);
    FoldVector<Kernel>(out + at, a + at, b + at);
  }
  if (at == bytes) return;
  // The last elements are folded in a vector of their own, which zeros fill up.
  HWY_ALIGN std::uint8_t last_a[HWY_MAX_BYTES] = {};
  HWY_ALIGN std::uint8_t last_b[HWY_MAX_BYTES] = {};
  std::memcpy(last_a, a + at, bytes - at);
  std::memcpy(last_b, b + at, bytes - at);
  FoldVector<Kernel>(last_a, last_a, last_b);
  std::memcpy(out + at, last_a, bytes - at);
}

// The quotients take the place of the elements.
template <class Kernel>
void RunDivision(std::uint8_t* elements, std::size_t bytes, float by) {
  const typename Kernel::D lanes;
  const std::size_t step = hn::Lanes(kBytes<Kernel>);
  const auto divide = [&](std::uint8_t* vector) HWY_ATTR {
    const auto quotients = Kernel::Of(hn::BitCast(lanes, hn::LoadU(kBytes<Kernel>, vector)), by);
    hn::StoreU(hn::BitCast(kBytes<Kernel>, quotients), kBytes<Kernel>, vector);
  };
  std::size_t at = 0;
  for (; at + step <= bytes; at += step) divide(elements + at);
  if (at == bytes) return;
  HWY_ALIGN std::uint8_t last[HWY_MAX_BYTES] = {};
  std::memcpy(last, elements + at, bytes - at);
  divide(last);
  std::memcpy(elements + at, last, bytes - at);
}

using Loop = decltype(&Run<ByteProducts>);
using Division = decltype(&RunDivision<Quotients<float>>);

template <typename Lane>
Loop OfIntegers(Op op) {
  using Unsigned = std::make_unsigned_t<Lane>;
  switch (op) {
    case Op::kSum:
      return Run<Integers<Unsigned, Sum>>;
    case Op::kProd:
      if constexpr (sizeof(Lane) == 1) {
        return Run<ByteProducts>;
      } else {
        return Run<Integers<Unsigned, Product>>;
      }
    case Op::kMin:
      return Run<Integers<Lane, Minimum>>;
    case Op::kMax:
      return Run<Integers<Lane, Maximum>>;
    case Op::kAnd:
      return Run<Integers<std::uint8_t, BitAnd>>;
    case Op::kOr:
      return Run<Integers<std::uint8_t, BitOr>>;
    case Op::kXor:
      return Run<Integers<std::uint8_t, BitXor>>;
    case Op::kMean:
      return nullptr;
  }
  return nullptr;
}

template <template <class> class Arithmetic, typename Bits, Bits kInfinity>
Loop OfFloats(Op op) {
  switch (op) {
    case Op::kSum:
    case Op::kMean:
      return Run<Arithmetic<Sum>>;
    case Op::kProd:
      return Run<Arithmetic<Product>>;
    case Op::kMin:
      return Run<OrderedFloats<Bits, kInfinity, Minimum>>;
    case Op::kMax:
      return Run<OrderedFloats<Bits, kInfinity, Maximum>>;
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return nullptr;
  }
  return nullptr;
}

template <std::size_t kRow>
Loop LoopOf(Op op) {
  constexpr DTypeRow kType = kDTypeRows[kRow];
  using Signed = hwy::SignedFromSize<kType.bytes>;
  if constexpr (kType.kind == ElementKind::kFloat) {
    using Kernels = FloatKernels<kType.value>;
    return OfFloats<Kernels::template Arithmetic, Signed, Signed{InfinityOf(kType)}>(op);
  } else if constexpr (kType.kind == ElementKind::kSigned) {
    return OfIntegers<Signed>(op);
  } else {
    return OfIntegers<std::make_unsigned_t<Signed>>(op);
  }
}

template <std::size_t kRow>
constexpr Division DivisionOf() {
  constexpr DTypeRow kType = kDTypeRows[kRow];
  if constexpr (kType.kind == ElementKind::kFloat) {
    return RunDivision<typename FloatKernels<kType.value>::Quotient>;
  } else {
    return nullptr;
  }
}

// What is chosen for one row of the table.
struct Choices {
  Loop (*loop)(Op op);
  Division division;
};

template <std::size_t... kRows>
constexpr std::array<Choices, sizeof...(kRows)> ChoicesOf(std::index_sequence<kRows...>) {
  return {{{LoopOf<kRows>, DivisionOf<kRows>()}...}};
}

const Choices* ChoicesFor(DType dtype) {
  static constexpr auto kChoices = ChoicesOf(std::make_index_sequence<kDTypeRows.size()>());
  return RowOf(kChoices, static_cast<std::uint32_t>(dtype));
}

// The loop for these elements; null where the operation has no meaning for them.
Loop ChooseLoop(Op op, DType dtype) {
  const Choices* choices = ChoicesFor(dtype);
  return choices != nullptr ? choices->loop(op) : nullptr;
}

// Null for what is no float.
Division ChooseDivision(DType dtype) {
  const Choices* choices = ChoicesFor(dtype);
  return choices != nullptr ? choices->division : nullptr;
}

}  // namespace hoplite::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hoplite::reduce {
namespace {

HWY_EXPORT(ChooseLoop);
HWY_EXPORT(ChooseDivision);

// Whether folding vector by vector reads all bytes before it overwrites them.
bool MayShare(std::span<const std::byte> out, std::span<const std::byte> in) {
  const std::less_equal<> is_before;
  return out.data() == in.data() || is_before(out.data() + out.size(), in.data()) ||
         is_before(in.data() + in.size(), out.data());
}

}  // namespace

void Fold(Op op, DType dtype, std::span<std::byte> out, std::span<const std::byte> a,
          std::span<const std::byte> b) {
  const auto loop = HWY_DYNAMIC_DISPATCH(ChooseLoop)(op, dtype);
  HOPLITE_CHECK(loop != nullptr, "the operation is none for this dtype");
  HOPLITE_CHECK(a.size() == out.size() && b.size() == out.size(), "the ranges differ in size");
  HOPLITE_CHECK(out.size() % SizeOf(dtype) == 0, "the ranges end within an element");
  HOPLITE_CHECK(MayShare(out, a) && MayShare(out, b), "the result overlaps an operand in part");
  if (out.empty()) return;
  loop(reinterpret_cast<std::uint8_t*>(out.data()), reinterpret_cast<const std::uint8_t*>(a.data()),
       reinterpret_cast<const std::uint8_t*>(b.data()), out.size());
}

// Every number of sources is exact as a float32.
static_assert(kMaxReduceSources <= 1 << 24);

void Finish(Op op, DType dtype, std::span<std::byte> elements, std::uint64_t sources) {
  if (op != Op::kMean || sources <= 1 || elements.empty()) return;
  const auto loop = HWY_DYNAMIC_DISPATCH(ChooseDivision)(dtype);
  HOPLITE_CHECK(loop != nullptr, "only floats have a mean");
  loop(reinterpret_cast<std::uint8_t*>(elements.data()), elements.size(),
       static_cast<float>(sources));
}

}  // namespace hoplite::reduce

#endif
