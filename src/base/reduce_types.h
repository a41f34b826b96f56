// What the program knows of types of elements and of operations, beside what hoplite/reduce.h tells
// users.
#pragma once

#include <cstdint>
#include <vector>

#include <hoplite/reduce.h>
#include <hoplite/result.h>

namespace hoplite {

// In the order of their numbers.
std::vector<DType> AllDTypes();
std::vector<Op> AllOps();

// That of a number in a message; an invalid_argument names a number that is none.
Result<DType> DTypeNumbered(std::uint32_t number);
Result<Op> OpNumbered(std::uint32_t number);

}  // namespace hoplite
