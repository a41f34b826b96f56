// DType: the type of an array's elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

// The type of an array's elements. The numbers travel on the wire.
//
// Integers, signed ones too, wrap around: the result is taken modulo 2 to the number of bits. 32 and
// 64 bits of floats are IEEE arithmetic rounded to nearest, ties to even; denormal numbers count.
// The 16 bits of kFloat16 are IEEE half precision, those of kBFloat16 the upper half of a float32:
// each fold computes in float32 and rounds its result once, to nearest, ties to even; beyond the
// largest number is an infinity. Rounding after every fold costs accuracy: sums of many are better
// kept in float32. Wherever a float result is NaN, it is the positive quiet one without payload.
enum class DType : std::uint8_t {
  kInt8 = 1,       // signed, 1 byte
  kInt16 = 2,      // signed, 2 bytes
  kInt32 = 3,      // signed, 4 bytes
  kInt64 = 4,      // signed, 8 bytes
  kUint8 = 5,      // unsigned, 1 byte
  kUint16 = 6,     // unsigned, 2 bytes
  kUint32 = 7,     // unsigned, 4 bytes
  kUint64 = 8,     // unsigned, 8 bytes
  kFloat16 = 9,    // 2 bytes: 5 of exponent, 10 of mantissa
  kBFloat16 = 10,  // 2 bytes: 8 of exponent, 7 of mantissa
  kFloat32 = 11,   // 4 bytes
  kFloat64 = 12,   // 8 bytes
};

// Bytes of one element; 0 for a number that is no DType.
HOPLITE_EXPORT std::size_t SizeOf(DType dtype);

// "float32", "bfloat16", "uint8", …: what the command line and Python take and show. "unknown" for a
// number that is none.
HOPLITE_EXPORT std::string_view Name(DType dtype);
HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, DType dtype);  // its Name
// The reverse of Name; an invalid_argument names the wrong word and the allowed ones.
HOPLITE_EXPORT Result<DType> ParseDType(std::string_view name);

}  // namespace hoplite
