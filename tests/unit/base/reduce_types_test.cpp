#include <string>

#include <gtest/gtest.h>

#include <hoplite/reduce.h>

namespace hoplite {
namespace {

template <typename Enum>
Enum Numbered(int number) {
  return static_cast<Enum>(number);
}

TEST(ReduceTypes, NamesAndSizes) {
  EXPECT_EQ(Name(DType::kInt8), "int8");
  EXPECT_EQ(Name(DType::kUint16), "uint16");
  EXPECT_EQ(Name(DType::kFloat16), "float16");
  EXPECT_EQ(Name(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(Name(DType::kFloat64), "float64");
  EXPECT_EQ(Name(Op::kSum), "sum");
  EXPECT_EQ(Name(Op::kXor), "xor");
  EXPECT_EQ(SizeOf(DType::kInt8), 1U);
  EXPECT_EQ(SizeOf(DType::kUint16), 2U);
  EXPECT_EQ(SizeOf(DType::kFloat16), 2U);
  EXPECT_EQ(SizeOf(DType::kBFloat16), 2U);
  EXPECT_EQ(SizeOf(DType::kFloat32), 4U);
  EXPECT_EQ(SizeOf(DType::kInt64), 8U);
}

TEST(ReduceTypes, EveryNameParsesToItsEnumerator) {
  for (int i = 1; i <= 12; ++i) EXPECT_EQ(ParseDType(Name(Numbered<DType>(i))), Numbered<DType>(i));
  for (int i = 1; i <= 7; ++i) EXPECT_EQ(ParseOp(Name(Numbered<Op>(i))), Numbered<Op>(i));
}

TEST(ReduceTypes, AWrongWordIsNamedBesideTheAllowedOnes) {
  const auto dtype = ParseDType("float");
  ASSERT_FALSE(dtype);
  EXPECT_EQ(dtype.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(dtype.error().message,
            "'float' is no dtype; choose one of int8, int16, int32, int64, uint8, uint16, uint32, "
            "uint64, float16, bfloat16, float32, float64");
  const auto op = ParseOp("");
  ASSERT_FALSE(op);
  EXPECT_EQ(op.error().message,
            "'' is no op; choose one of sum, prod, min, max, and, or, xor, mean");
  EXPECT_FALSE(ParseOp("unknown"));
}

TEST(ReduceTypes, MeansAreOfFloats) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    EXPECT_TRUE(Supports(Op::kMean, dtype)) << Name(dtype);
  }
  for (const DType dtype : {DType::kInt8, DType::kInt64, DType::kUint8, DType::kUint64}) {
    const auto supported = Supports(Op::kMean, dtype);
    ASSERT_FALSE(supported) << Name(dtype);
    EXPECT_EQ(supported.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(Supports(Op::kMean, DType::kInt32).error().message,
            "mean works on floats, not on int32");
}

TEST(ReduceTypes, BitOperationsAreForIntegers) {
  EXPECT_TRUE(Supports(Op::kXor, DType::kUint64));
  EXPECT_TRUE(Supports(Op::kMax, DType::kFloat16));
  for (const Op op : {Op::kAnd, Op::kOr, Op::kXor}) {
    for (const DType dtype :
         {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
      const auto supported = Supports(op, dtype);
      ASSERT_FALSE(supported) << Name(op) << " of " << Name(dtype);
      EXPECT_EQ(supported.error().code, ErrorCode::kInvalidArgument);
    }
  }
  EXPECT_EQ(Supports(Op::kAnd, DType::kFloat32).error().message,
            "and works on integers, not on float32");
}

TEST(ReduceTypes, NumbersBesideTheEnumeratorsAreRefused) {
  for (const int number : {0, 13, 255}) {
    EXPECT_EQ(SizeOf(Numbered<DType>(number)), 0U);
    EXPECT_EQ(Name(Numbered<DType>(number)), "unknown");
    EXPECT_FALSE(Supports(Op::kSum, Numbered<DType>(number)));
  }
  for (const int number : {0, 9, 255}) {
    EXPECT_EQ(Name(Numbered<Op>(number)), "unknown");
    EXPECT_FALSE(Supports(Numbered<Op>(number), DType::kInt8));
  }
}

}  // namespace
}  // namespace hoplite
