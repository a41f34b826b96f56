// All types of elements and all operations, one row each: names, sizes, kinds and the numbers that
// messages may have come from here, and the kernels of src/reduce follow it.
//
// Included by reduce_types.cpp, by those kernels and by tests: a program of tests that compiles these
// sources anew has rows of its own in every layer. Others ask hoplite/reduce.h and reduce_types.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <hoplite/reduce.h>

namespace hoplite {

enum class ElementKind : std::uint8_t { kSigned, kUnsigned, kFloat };

struct DTypeRow {
  DType value;
  std::string_view name;
  std::size_t bytes;
  ElementKind kind;
  int mantissa_bits = 0;  // of a float, without the leading one
};

inline constexpr auto kDTypeRows = std::to_array<DTypeRow>({
    {DType::kInt8, "int8", 1, ElementKind::kSigned},
    {DType::kInt16, "int16", 2, ElementKind::kSigned},
    {DType::kInt32, "int32", 4, ElementKind::kSigned},
    {DType::kInt64, "int64", 8, ElementKind::kSigned},
    {DType::kUint8, "uint8", 1, ElementKind::kUnsigned},
    {DType::kUint16, "uint16", 2, ElementKind::kUnsigned},
    {DType::kUint32, "uint32", 4, ElementKind::kUnsigned},
    {DType::kUint64, "uint64", 8, ElementKind::kUnsigned},
    {DType::kFloat16, "float16", 2, ElementKind::kFloat, 10},
    {DType::kBFloat16, "bfloat16", 2, ElementKind::kFloat, 7},
    {DType::kFloat32, "float32", 4, ElementKind::kFloat, 23},
    {DType::kFloat64, "float64", 8, ElementKind::kFloat, 52},
#ifdef HOPLITE_MADE_UP_ROWS  // in the program of tests/integration/made_up_rows_test.cpp alone
    {DType{13}, "made_up", 2, ElementKind::kSigned},
#endif
});

// The kinds of elements that an operation works on.
enum class WorksOn : std::uint8_t { kAll, kIntegers, kFloats };

struct OpRow {
  Op value;
  std::string_view name;
  WorksOn works_on;
};

inline constexpr auto kOpRows = std::to_array<OpRow>({
    {Op::kSum, "sum", WorksOn::kAll},
    {Op::kProd, "prod", WorksOn::kAll},
    {Op::kMin, "min", WorksOn::kAll},
    {Op::kMax, "max", WorksOn::kAll},
    {Op::kAnd, "and", WorksOn::kIntegers},
    {Op::kOr, "or", WorksOn::kIntegers},
    {Op::kXor, "xor", WorksOn::kIntegers},
    {Op::kMean, "mean", WorksOn::kFloats},
#ifdef HOPLITE_MADE_UP_ROWS
    {Op{9}, "made_up", WorksOn::kIntegers},
#endif
});

// Numbers begin at 1 and leave none out, so that a row is found by its number.
template <typename Row, std::size_t kRows>
consteval bool AreNumbered(const std::array<Row, kRows>& rows) {
  for (std::size_t i = 0; i < kRows; ++i) {
    if (static_cast<std::size_t>(rows[i].value) != i + 1) return false;
  }
  return true;
}
static_assert(AreNumbered(kDTypeRows) && AreNumbered(kOpRows));

// Null for a number that is no row's.
template <typename Row, std::size_t kRows>
constexpr const Row* RowOf(const std::array<Row, kRows>& rows, std::uint32_t number) {
  return number >= 1 && number <= kRows ? &rows[number - 1] : nullptr;
}

// All bits of the exponent and no others.
constexpr std::uint64_t InfinityOf(const DTypeRow& type) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * type.bytes - 1);
  return sign - (std::uint64_t{1} << type.mantissa_bits);
}

}  // namespace hoplite
