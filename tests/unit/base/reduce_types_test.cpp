#include "base/reduce_types.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hoplite/reduce.h>

namespace hoplite {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

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
  for (const DType dtype : AllDTypes()) EXPECT_EQ(ParseDType(Name(dtype)), dtype);
  for (const Op op : AllOps()) EXPECT_EQ(ParseOp(Name(op)), op);
  EXPECT_THAT(AllDTypes(), testing::IsSupersetOf({DType::kInt8, DType::kFloat64}));
  EXPECT_THAT(AllOps(), testing::IsSupersetOf({Op::kSum, Op::kMean}));
}

TEST(ReduceTypes, AWrongWordIsNamedBesideTheAllowedOnes) {
  const auto dtype = ParseDType("float");
  ASSERT_FALSE(dtype);
  EXPECT_EQ(dtype.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(dtype.error().message,
              StartsWith("'float' is no dtype; choose one of int8, int16, int32, int64, uint8, "));
  for (const DType allowed : AllDTypes()) {
    EXPECT_THAT(dtype.error().message, HasSubstr(Name(allowed)));
  }
  const auto op = ParseOp("");
  ASSERT_FALSE(op);
  EXPECT_THAT(op.error().message, StartsWith("'' is no op; choose one of sum, prod, min, max, "));
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
  for (const int number : {0, static_cast<int>(AllDTypes().size()) + 1, 255}) {
    EXPECT_EQ(SizeOf(Numbered<DType>(number)), 0U);
    EXPECT_EQ(Name(Numbered<DType>(number)), "unknown");
    EXPECT_FALSE(Supports(Op::kSum, Numbered<DType>(number)));
    EXPECT_FALSE(DTypeNumbered(static_cast<std::uint32_t>(number)));
  }
  for (const int number : {0, static_cast<int>(AllOps().size()) + 1, 255}) {
    EXPECT_EQ(Name(Numbered<Op>(number)), "unknown");
    EXPECT_FALSE(Supports(Numbered<Op>(number), DType::kInt8));
    EXPECT_FALSE(OpNumbered(static_cast<std::uint32_t>(number)));
  }
}

TEST(ReduceTypes, ANumberOfAMessageIsReadWhole) {
  EXPECT_EQ(DTypeNumbered(11), DType::kFloat32);
  EXPECT_EQ(OpNumbered(8), Op::kMean);
  EXPECT_EQ(DTypeNumbered(256 + 11).error().message, "267 is not the number of any dtype");
  EXPECT_EQ(OpNumbered(256 + 1).error().message, "257 is not the number of any op");
}

}  // namespace
}  // namespace hoplite
