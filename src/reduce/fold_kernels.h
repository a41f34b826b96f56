// How one vector is folded, for each kind of element. fold.cpp includes this file once for every
// instruction set; it has no meaning elsewhere.
//
// A kernel is a type with the lanes D that it works on and Fold(a, b) on vectors of these, or Of(a, n),
// which divides one by a number. Lanes need not be elements: two bytes or two 16-bit floats may share
// one.
#if defined(HOPLITE_FOLD_KERNELS) == defined(HWY_TARGET_TOGGLE)  // the guard, anew for each target
#ifdef HOPLITE_FOLD_KERNELS
#undef HOPLITE_FOLD_KERNELS
#else
#define HOPLITE_FOLD_KERNELS
#endif

#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include <hoplite/dtype.h>

// Whether float16 converts with an instruction that rounds to nearest even. Where it does not,
// Highway's own conversion truncates and knows no infinity.
#undef HOPLITE_CONVERTS_FLOAT16
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
#define HOPLITE_CONVERTS_FLOAT16 1
#else
#define HOPLITE_CONVERTS_FLOAT16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace hoplite::reduce::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Float32s = hn::ScalableTag<float>;
using Words = hn::RebindToUnsigned<Float32s>;
using SignedWords = hn::RebindToSigned<Float32s>;

// Operators on vectors of any lanes.
struct Sum {
  template <class V>
  static HWY_INLINE V Of(V a, V b) {
    return hn::Add(a, b);
  }
};
struct Product {
  template <class V>
  static HWY_INLINE V Of(V a, V b) {
    return hn::Mul(a, b);
  }
};
struct Minimum {
  template <class V>
  static HWY_INLINE V Of(V a, V b) {
    return hn::Min(a, b);
  }
};
struct Maximum {
  template <class V>
  static HWY_INLINE V Of(V a, V b) {
    return hn::Max(a, b);
  }
};
struct BitAnd {
  template <class V>
  static HWY_INLINE V Of(V a, V b) {
    return hn::And(a, b);
  }
};
struct BitOr {
  template <class V>
  static HWY_INLINE V Of(V a, V b) {
    return hn::Or(a, b);
  }
};
struct BitXor {
  template <class V>
  static HWY_INLINE V Of(V a, V b) {
    return hn::Xor(a, b);
  }
};

// Integers. Sums and products are given unsigned lanes, which wrap around.
template <typename Lane, class Operator>
struct Integers {
  using D = hn::ScalableTag<Lane>;
  static HWY_INLINE hn::Vec<D> Fold(hn::Vec<D> a, hn::Vec<D> b) { return Operator::Of(a, b); }
};

// Processors don't multiply 8-bit lanes, so a 16-bit lane holds two bytes and is multiplied twice:
// as it is, for the lower byte; then with one factor shifted down and the other one's lower byte
// cleared, which leaves the product of the upper bytes in its place.
struct ByteProducts {
  using D = hn::ScalableTag<std::uint16_t>;
  static HWY_INLINE hn::Vec<D> Fold(hn::Vec<D> a, hn::Vec<D> b) {
    const auto lower = hn::Set(D(), 0x00FF);
    const auto even = hn::Mul(a, b);
    const auto odd = hn::Mul(hn::ShiftRight<8>(a), hn::AndNot(lower, b));
    return hn::Or(hn::And(lower, even), odd);
  }
};

// One NaN for all, so that bits depend neither on the order of a and b nor on the processor.
template <class V>
HWY_INLINE V OneNaN(V v) {
  const hn::DFromV<V> d;
  using Lane = hn::TFromD<decltype(d)>;
  return hn::IfThenElse(hn::IsNaN(v), hn::Set(d, std::numeric_limits<Lane>::quiet_NaN()), v);
}

// Sum or product of float32 and float64.
template <typename Lane, class Operator>
struct Floats {
  using D = hn::ScalableTag<Lane>;
  static HWY_INLINE hn::Vec<D> Fold(hn::Vec<D> a, hn::Vec<D> b) {
    return OneNaN(Operator::Of(a, b));
  }
};

// Minimum or maximum of floats of any width: their bits order as sign and magnitude, so they are
// compared as the two's complement numbers of the same order, where -0 is just below +0.
template <typename Bits, Bits kInfinity, class Operator>
struct OrderedFloats {
  using D = hn::ScalableTag<Bits>;
  using V = hn::Vec<D>;

  static HWY_INLINE V Fold(V a, V b) {
    const auto magnitude = hn::Set(D(), kMagnitude);
    const auto larger = hn::Max(hn::And(a, magnitude), hn::And(b, magnitude));
    const auto nan = hn::Set(D(), kQuietNaN);
    return hn::IfThenElse(hn::Gt(larger, hn::Set(D(), kInfinity)), nan,
                          Exchange(Operator::Of(Exchange(a), Exchange(b))));
  }

 private:
  static constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
  // The lowest bit of an infinity's exponent, halved, is the highest of the mantissa.
  static constexpr Bits kQuietNaN = kInfinity | ((kInfinity & -kInfinity) >> 1);

  // Sign and magnitude to two's complement, and back.
  static HWY_INLINE V Exchange(V v) {
    return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(D(), kMagnitude)));
  }
};

// Elements of 16 bits, two in a lane of 32: those in the lower halves are even, the others odd. Pairs
// makes float32 of them, and pairs of two vectors of float32, rounded to nearest even.
template <class Pairs, class Operator>
struct PairFolds {
  using D = Words;
  using V = hn::Vec<Words>;

  static HWY_INLINE V Fold(V a, V b) {
    return Pairs::Join(Operator::Of(Pairs::Even(a), Pairs::Even(b)),
                       Operator::Of(Pairs::Odd(a), Pairs::Odd(b)));
  }
};

template <class Pairs>
struct PairQuotients {
  using D = Words;
  using V = hn::Vec<Words>;

  static HWY_INLINE V Of(V sums, float by) {
    const auto divisors = hn::Set(Float32s(), by);
    return Pairs::Join(hn::Div(Pairs::Even(sums), divisors), hn::Div(Pairs::Odd(sums), divisors));
  }
};

// Quotients of float32 and float64.
template <typename Lane>
struct Quotients {
  using D = hn::ScalableTag<Lane>;
  static HWY_INLINE hn::Vec<D> Of(hn::Vec<D> sums, float by) {
    return OneNaN(hn::Div(sums, hn::Set(D(), static_cast<Lane>(by))));
  }
};

// bfloat16 is the upper half of a float32.
struct BFloat16Pairs {
  using V = hn::Vec<Words>;
  using Floats = hn::Vec<Float32s>;

  static HWY_INLINE Floats Even(V v) { return hn::BitCast(Float32s(), hn::ShiftLeft<16>(v)); }
  static HWY_INLINE Floats Odd(V v) { return hn::BitCast(Float32s(), Upper(v)); }
  static HWY_INLINE V Join(Floats even, Floats odd) {
    return hn::Or(hn::ShiftRight<16>(Rounded(even)), Upper(Rounded(odd)));
  }

 private:
  static HWY_INLINE V Upper(V v) { return hn::And(hn::Set(Words(), 0xFFFF0000), v); }
  // With something left in the lower half.
  static HWY_INLINE V Rounded(Floats v) {
    const auto wide = hn::BitCast(Words(), OneNaN(v));
    const auto is_odd = hn::And(hn::ShiftRight<16>(wide), hn::Set(Words(), 1));
    return hn::Add(wide, hn::Add(is_odd, hn::Set(Words(), 0x7FFF)));
  }
};

template <class Operator>
using BFloat16s = PairFolds<BFloat16Pairs, Operator>;

#if HOPLITE_CONVERTS_FLOAT16

// float16: half a vector becomes one of float32.
struct Float16Halves {
  using D = hn::Rebind<std::uint16_t, Float32s>;
  using Half = hn::Rebind<hwy::float16_t, Float32s>;

  static HWY_INLINE hn::Vec<Float32s> Widen(hn::Vec<D> v) {
    return hn::PromoteTo(Float32s(), hn::BitCast(Half(), v));
  }
  static HWY_INLINE hn::Vec<D> Narrow(hn::Vec<Float32s> v) {
    return hn::BitCast(D(), hn::DemoteTo(Half(), OneNaN(v)));
  }
};

template <class Operator>
struct Float16s {
  using D = Float16Halves::D;
  static HWY_INLINE hn::Vec<D> Fold(hn::Vec<D> a, hn::Vec<D> b) {
    return Float16Halves::Narrow(Operator::Of(Float16Halves::Widen(a), Float16Halves::Widen(b)));
  }
};

struct Float16Quotients {
  using D = Float16Halves::D;
  static HWY_INLINE hn::Vec<D> Of(hn::Vec<D> sums, float by) {
    return Float16Halves::Narrow(hn::Div(Float16Halves::Widen(sums), hn::Set(Float32s(), by)));
  }
};

#else

// float16, converted by hand.
struct Float16Pairs {
  using V = hn::Vec<Words>;
  using Floats = hn::Vec<Float32s>;

  static HWY_INLINE Floats Even(V v) { return FromHalf(hn::And(hn::Set(Words(), 0xFFFF), v)); }
  static HWY_INLINE Floats Odd(V v) { return FromHalf(hn::ShiftRight<16>(v)); }
  static HWY_INLINE V Join(Floats even, Floats odd) {
    return hn::Or(ToHalf(OneNaN(even)), hn::ShiftLeft<16>(ToHalf(OneNaN(odd))));
  }

 private:
  static HWY_INLINE hn::Vec<Float32s> FromHalf(V half) {
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(Words(), 0x8000)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(Words(), 0x7FFF)));
    // The difference of the exponents' biases; a product also makes denormals normal.
    const auto scaled = hn::Mul(hn::BitCast(Float32s(), magnitude), hn::Set(Float32s(), 0x1p112F));
    const auto infinite =
        hn::Gt(hn::BitCast(SignedWords(), magnitude), hn::Set(SignedWords(), (0x7C00 << 13) - 1));
    const auto exponent = hn::IfThenElseZero(infinite, hn::Set(SignedWords(), 0x7F800000));
    return hn::BitCast(Float32s(), hn::Or(hn::BitCast(Words(), scaled),
                                          hn::Or(sign, hn::BitCast(Words(), exponent))));
  }

  static HWY_INLINE V ToHalf(hn::Vec<Float32s> v) {
    const auto bits = hn::BitCast(Words(), v);
    const auto magnitude = hn::And(bits, hn::Set(Words(), 0x7FFFFFFF));
    const auto sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
    // Rounds the mantissa to ten bits, after the exponent got its new bias.
    const auto is_odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(Words(), 1));
    const auto rounded =
        hn::Add(magnitude, hn::Add(is_odd, hn::Set(Words(), 0xFFF - (112U << 23))));
    const auto normal = hn::ShiftRight<13>(rounded);
    // Below 2^-14 a sum with 2^-1 rounds at 2^-24, the last bit of a denormal.
    const auto half = hn::Set(Float32s(), 0.5F);
    const auto denormal =
        hn::Sub(hn::BitCast(Words(), hn::Add(hn::BitCast(Float32s(), magnitude), half)),
                hn::BitCast(Words(), half));
    const auto order = hn::BitCast(SignedWords(), magnitude);
    const auto is_denormal = hn::Lt(order, hn::Set(SignedWords(), 113 << 23));
    const auto overflows = hn::Gt(order, hn::Set(SignedWords(), (143 << 23) - 1));
    const auto is_nan = hn::Gt(order, hn::Set(SignedWords(), 0x7F800000));
    const auto beyond = hn::IfThenElse(hn::RebindMask(Words(), is_nan), hn::Set(Words(), 0x7E00),
                                       hn::Set(Words(), 0x7C00));
    const auto finite = hn::IfThenElse(hn::RebindMask(Words(), is_denormal), denormal, normal);
    return hn::Or(sign, hn::IfThenElse(hn::RebindMask(Words(), overflows), beyond, finite));
  }
};

template <class Operator>
using Float16s = PairFolds<Float16Pairs, Operator>;
using Float16Quotients = PairQuotients<Float16Pairs>;

#endif

// The kernels of each type of floats: Arithmetic<Operator> of sums and products, and Quotient. The
// compiler names a type of the table that has none here.
template <DType kDType>
struct FloatKernels;

template <>
struct FloatKernels<DType::kFloat16> {
  template <class Operator>
  using Arithmetic = Float16s<Operator>;
  using Quotient = Float16Quotients;
};

template <>
struct FloatKernels<DType::kBFloat16> {
  template <class Operator>
  using Arithmetic = BFloat16s<Operator>;
  using Quotient = PairQuotients<BFloat16Pairs>;
};

template <>
struct FloatKernels<DType::kFloat32> {
  template <class Operator>
  using Arithmetic = Floats<float, Operator>;
  using Quotient = Quotients<float>;
};

template <>
struct FloatKernels<DType::kFloat64> {
  template <class Operator>
  using Arithmetic = Floats<double, Operator>;
  using Quotient = Quotients<double>;
};

}  // namespace hoplite::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
