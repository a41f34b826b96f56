#include "reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <hwy/base.h>

#include "base/reduce_table.h"

namespace hoplite::reduce {
namespace {

// A float of 8 or 16 bits, from its definition: sign, exponent, mantissa.
template <std::size_t kBytes, int kMantissaBits>
struct SmallFloat {
  using Bits = hwy::UnsignedFromSize<kBytes>;
  static constexpr int kSign = 1 << (8 * kBytes - 1);
  static constexpr int kOne = 1 << kMantissaBits;  // in units of the last bit
  static constexpr int kInfinity = kSign - kOne;
  static constexpr int kBias = kInfinity / kOne / 2;

  Bits bits;

  float value() const {
    const int magnitude = bits & (kSign - 1);
    const int exponent = magnitude >> kMantissaBits;
    const int mantissa = magnitude & (kOne - 1);
    if (magnitude > kInfinity) return std::numeric_limits<float>::quiet_NaN();
    const double absolute = magnitude == kInfinity
                                ? std::numeric_limits<double>::infinity()
                                : std::ldexp(exponent == 0 ? mantissa : kOne + mantissa,
                                             std::max(exponent, 1) - kBias - kMantissaBits);
    return static_cast<float>(std::copysign(absolute, (bits & kSign) != 0 ? -1.0 : 1.0));
  }

  static SmallFloat Nearest(float value) {
    if (std::isnan(value)) return {static_cast<Bits>(kInfinity | (kOne >> 1))};
    const int sign = std::signbit(value) ? kSign : 0;
    if (std::isinf(value)) return {static_cast<Bits>(sign | kInfinity)};
    const double absolute = std::fabs(static_cast<double>(value));
    const int exponent = std::max(std::ilogb(absolute), 1 - kBias);
    // Rounds to even; where it gives one bit more, the sum carries into the exponent.
    const double mantissa = std::nearbyint(std::ldexp(absolute, kMantissaBits - exponent));
    const double magnitude = (exponent + kBias - 1) * static_cast<double>(kOne) + mantissa;
    return {static_cast<Bits>(sign | static_cast<int>(std::min<double>(magnitude, kInfinity)))};
  }
};

using Half = SmallFloat<2, 10>;
using BrainHalf = SmallFloat<2, 7>;

// What the elements of a row of the table are here.
template <std::size_t kRow>
auto ElementOf() {
  constexpr DTypeRow kType = kDTypeRows[kRow];
  if constexpr (kType.kind == ElementKind::kSigned) {
    return hwy::SignedFromSize<kType.bytes>{};
  } else if constexpr (kType.kind == ElementKind::kUnsigned) {
    return hwy::UnsignedFromSize<kType.bytes>{};
  } else if constexpr (kType.bytes < sizeof(float)) {
    return SmallFloat<kType.bytes, kType.mantissa_bits>{};
  } else {
    return hwy::FloatFromSize<kType.bytes>{};
  }
}

// Runs with an element of this type.
template <typename Run>
void WithElementOf(DType dtype, const Run& run) {
  bool ran = false;
  const auto try_row = [&]<std::size_t kRow>() {
    if (kDTypeRows[kRow].value != dtype) return;
    run(ElementOf<kRow>());
    ran = true;
  };
  [&]<std::size_t... kRows>(std::index_sequence<kRows...>) {
    (try_row.template operator()<kRows>(), ...);
  }(std::make_index_sequence<kDTypeRows.size()>());
  if (!ran) std::abort();
}

template <typename T>
T FoldIntegers(Op op, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (op) {
    case Op::kSum:
    case Op::kMean:
      return static_cast<T>(x + y);
    case Op::kProd:
      return static_cast<T>(x * y);
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kAnd:
      return static_cast<T>(x & y);
    case Op::kOr:
      return static_cast<T>(x | y);
    case Op::kXor:
      return static_cast<T>(x ^ y);
  }
  std::abort();
}

// Of two numbers, -0 below +0.
template <typename T>
T Lesser(T a, T b) {
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename T>
T FoldFloats(Op op, T a, T b) {
  T result = std::numeric_limits<T>::quiet_NaN();
  if (std::isnan(a) || std::isnan(b)) return result;
  if (op == Op::kSum || op == Op::kMean) result = a + b;
  if (op == Op::kProd) result = a * b;
  if (op == Op::kMin) result = Lesser(a, b);
  if (op == Op::kMax) result = -Lesser(-a, -b);
  return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
}

template <typename T>
T FoldElements(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return FoldIntegers(op, a, b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return FoldFloats(op, a, b);
  } else {
    return T::Nearest(FoldFloats(op, a.value(), b.value()));
  }
}

template <typename T>
void FoldAll(Op op, std::span<std::byte> out, std::span<const std::byte> a,
             std::span<const std::byte> b) {
  for (std::size_t at = 0; at < out.size(); at += sizeof(T)) {
    T x;
    T y;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    const T folded = FoldElements(op, x, y);
    std::memcpy(out.data() + at, &folded, sizeof folded);
  }
}

template <typename T>
T Quotient(T element, std::uint64_t by) {
  if constexpr (std::is_floating_point_v<T>) {
    const T quotient = element / static_cast<T>(by);
    return std::isnan(quotient) ? std::numeric_limits<T>::quiet_NaN() : quotient;
  } else {
    return T::Nearest(Quotient(element.value(), by));
  }
}

template <typename T>
void DivideAll(std::span<std::byte> elements, std::uint64_t by) {
  for (std::size_t at = 0; at < elements.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, elements.data() + at, sizeof x);
    x = Quotient(x, by);
    std::memcpy(elements.data() + at, &x, sizeof x);
  }
}

}  // namespace

std::vector<std::byte> ReferenceQuotients(DType dtype, std::span<const std::byte> elements,
                                          std::uint64_t by) {
  std::vector<std::byte> out(elements.begin(), elements.end());
  WithElementOf(dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      std::abort();
    } else {
      DivideAll<T>(out, by);
    }
  });
  return out;
}

std::vector<std::byte> ReferenceFold(Op op, DType dtype, std::span<const std::byte> a,
                                     std::span<const std::byte> b) {
  std::vector<std::byte> out(a.size());
  WithElementOf(dtype, [&]<typename T>(T) { FoldAll<T>(op, out, a, b); });
  return out;
}

std::uint16_t Float16Bits(float value) { return Half::Nearest(value).bits; }
std::uint16_t BFloat16Bits(float value) { return BrainHalf::Nearest(value).bits; }

}  // namespace hoplite::reduce
