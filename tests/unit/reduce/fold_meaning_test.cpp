// What hoplite/reduce.h promises of single elements, in plain numbers.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "on_each_target.h"
#include "reduce/fold.h"
#include "reference.h"

namespace hoplite::reduce {
namespace {

// Folds two elements, at an odd length and in both orders, which must agree.
template <typename T>
T FoldOne(Op op, DType dtype, T a, T b) {
  const std::vector<T> left(65, a);
  const std::vector<T> right(65, b);
  std::vector<T> out(65);
  Fold(op, dtype, std::as_writable_bytes(std::span(out)), std::as_bytes(std::span(left)),
       std::as_bytes(std::span(right)));
  std::vector<T> swapped(65);
  Fold(op, dtype, std::as_writable_bytes(std::span(swapped)), std::as_bytes(std::span(right)),
       std::as_bytes(std::span(left)));
  EXPECT_EQ(std::memcmp(out.data(), swapped.data(), sizeof(T) * out.size()), 0);
  EXPECT_EQ(std::memcmp(&out.front(), &out.back(), sizeof(T)), 0);
  return out.front();
}

float Float32(Op op, float a, float b) { return FoldOne(op, DType::kFloat32, a, b); }

std::uint16_t Float16(Op op, float a, float b) {
  return FoldOne(op, DType::kFloat16, Float16Bits(a), Float16Bits(b));
}

std::uint16_t BFloat16(Op op, float a, float b) {
  return FoldOne(op, DType::kBFloat16, BFloat16Bits(a), BFloat16Bits(b));
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(FoldMeaning, IntegersWrapAround) {
  OnEachTarget([] {
    EXPECT_EQ(FoldOne<std::int8_t>(Op::kSum, DType::kInt8, 127, 1), -128);
    EXPECT_EQ(FoldOne<std::int8_t>(Op::kProd, DType::kInt8, -128, -1), -128);
    EXPECT_EQ(FoldOne<std::uint8_t>(Op::kProd, DType::kUint8, 200, 200), 64);
    EXPECT_EQ(FoldOne<std::int16_t>(Op::kProd, DType::kInt16, 300, 300), 90000 - 65536);
    EXPECT_EQ(FoldOne<std::int32_t>(Op::kSum, DType::kInt32, 2147483647, 1), -2147483647 - 1);
    EXPECT_EQ(FoldOne<std::uint64_t>(Op::kSum, DType::kUint64, ~0ULL, 2), 1U);
    EXPECT_EQ(FoldOne<std::int64_t>(Op::kProd, DType::kInt64, -3, 5), -15);
  });
}

TEST(FoldMeaning, SignedAndUnsignedOrderDifferently) {
  OnEachTarget([] {
    EXPECT_EQ(FoldOne<std::int8_t>(Op::kMin, DType::kInt8, -1, 1), -1);
    EXPECT_EQ(FoldOne<std::uint8_t>(Op::kMin, DType::kUint8, 255, 1), 1);
    EXPECT_EQ(FoldOne<std::int64_t>(Op::kMax, DType::kInt64, -1, 1), 1);
    EXPECT_EQ(FoldOne<std::uint64_t>(Op::kMax, DType::kUint64, ~0ULL, 1), ~0ULL);
  });
}

TEST(FoldMeaning, SmallFloatsRoundTiesToEven) {
  OnEachTarget([] {
    // Between 2048 and 2050 float16 has nothing, between 256 and 258 bfloat16.
    EXPECT_EQ(Float16(Op::kSum, 2048, 1), Float16Bits(2048));
    EXPECT_EQ(Float16(Op::kSum, 2050, 1), Float16Bits(2052));
    EXPECT_EQ(BFloat16(Op::kSum, 256, 1), BFloat16Bits(256));
    EXPECT_EQ(BFloat16(Op::kSum, 258, 1), BFloat16Bits(260));
    EXPECT_EQ(BFloat16(Op::kSum, 256, 1.0078125F), BFloat16Bits(258));
  });
}

TEST(FoldMeaning, SmallFloatsOverflowToInfinity) {
  OnEachTarget([] {
    EXPECT_EQ(Float16(Op::kSum, 65504, 15), 0x7BFF);  // rounds down to 65504, the largest
    EXPECT_EQ(Float16(Op::kSum, 65504, 16), 0x7C00);
    EXPECT_EQ(Float16(Op::kProd, -65504, 65504), 0xFC00);
    EXPECT_EQ(BFloat16(Op::kProd, 0x1p127F, -2), 0xFF80);
  });
}

TEST(FoldMeaning, DenormalsCount) {
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  OnEachTarget([] {
    EXPECT_EQ(Float32(Op::kSum, kTiny, kTiny), 2 * kTiny);
    EXPECT_EQ(Float32(Op::kProd, 0x1p-126F, 0.5F), 0x1p-127F);
    EXPECT_EQ(Float16(Op::kSum, 0x1p-24F, 0x1p-24F), 2);
    EXPECT_EQ(Float16(Op::kProd, 0x1p-14F, 0.5F), 0x0200);
    EXPECT_EQ(BFloat16(Op::kProd, 0x1p-126F, 0.5F), 0x0040);
    EXPECT_EQ(FoldOne<double>(Op::kProd, DType::kFloat64, 0x1p-1022, 0.5), 0x1p-1023);
  });
}

TEST(FoldMeaning, NaNOnEitherSideGivesTheOneNaN) {
  const float signalling = std::bit_cast<float>(0xFFA00001U);
  OnEachTarget([&] {
    for (const Op op : {Op::kSum, Op::kProd, Op::kMin, Op::kMax}) {
      for (const float other : {1.0F, -kInfinity, kInfinity, kNaN}) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(Float32(op, signalling, other)), 0x7FC00000U);
        EXPECT_EQ(Float16(op, kNaN, other), 0x7E00);
        EXPECT_EQ(BFloat16(op, kNaN, other), 0x7FC0);
      }
    }
    EXPECT_EQ(std::bit_cast<std::uint32_t>(Float32(Op::kSum, kInfinity, -kInfinity)), 0x7FC00000U);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(Float32(Op::kProd, kInfinity, -0.0F)), 0x7FC00000U);
  });
}

TEST(FoldMeaning, MinusZeroIsBelowPlusZero) {
  OnEachTarget([] {
    EXPECT_TRUE(std::signbit(Float32(Op::kMin, 0.0F, -0.0F)));
    EXPECT_FALSE(std::signbit(Float32(Op::kMax, 0.0F, -0.0F)));
    EXPECT_EQ(Float16(Op::kMin, 0.0F, -0.0F), 0x8000);
    EXPECT_EQ(BFloat16(Op::kMax, 0.0F, -0.0F), 0x0000);
    EXPECT_FALSE(std::signbit(Float32(Op::kSum, 0.0F, -0.0F)));
  });
}

TEST(FoldMeaning, InfinitiesAreTheEndsOfTheOrder) {
  OnEachTarget([] {
    EXPECT_EQ(Float32(Op::kMin, -kInfinity, -3e38F), -kInfinity);
    EXPECT_EQ(Float32(Op::kMax, kInfinity, 3e38F), kInfinity);
    EXPECT_EQ(Float32(Op::kMin, kInfinity, 3e38F), 3e38F);
    EXPECT_EQ(Float32(Op::kMax, -2.0F, -3.0F), -2.0F);
  });
}

}  // namespace
}  // namespace hoplite::reduce
