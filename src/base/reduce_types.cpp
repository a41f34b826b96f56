#include <algorithm>
#include <array>
#include <string>

#include <hoplite/reduce.h>

namespace hoplite {
namespace {

struct Type {
  std::string_view name;
  std::size_t bytes;
};

// In the order of the enumerators, whose numbers begin at 1.
constexpr auto kTypes = std::to_array<Type>({{"int8", 1},
                                             {"int16", 2},
                                             {"int32", 4},
                                             {"int64", 8},
                                             {"uint8", 1},
                                             {"uint16", 2},
                                             {"uint32", 4},
                                             {"uint64", 8},
                                             {"float16", 2},
                                             {"bfloat16", 2},
                                             {"float32", 4},
                                             {"float64", 8}});
static_assert(kTypes.size() == static_cast<std::size_t>(DType::kFloat64));

enum class Of : std::uint8_t { kAll, kIntegers, kFloats };

struct Operation {
  std::string_view name;
  Of of;
};

constexpr auto kOperations = std::to_array<Operation>({{"sum", Of::kAll},
                                                       {"prod", Of::kAll},
                                                       {"min", Of::kAll},
                                                       {"max", Of::kAll},
                                                       {"and", Of::kIntegers},
                                                       {"or", Of::kIntegers},
                                                       {"xor", Of::kIntegers},
                                                       {"mean", Of::kFloats}});
static_assert(kOperations.size() == static_cast<std::size_t>(Op::kMean));

// The table's row of an enumerator; null for a number that is no enumerator.
template <typename Row, std::size_t kRows, typename Enum>
const Row* Find(const std::array<Row, kRows>& rows, Enum value) {
  const auto number = static_cast<std::size_t>(value);
  return number >= 1 && number <= kRows ? &rows[number - 1] : nullptr;
}

template <typename Enum, typename Row, std::size_t kRows>
Result<Enum> Parse(const char* what, const std::array<Row, kRows>& rows, std::string_view name) {
  const auto row = std::ranges::find(rows, name, &Row::name);
  if (row != rows.end()) return static_cast<Enum>(row - rows.begin() + 1);
  std::string message =
      "'" + std::string(name.substr(0, 64)) + "' is no " + what + "; choose one of ";
  for (const Row& allowed : rows) {
    if (&allowed != rows.data()) message += ", ";
    message += allowed.name;
  }
  return std::unexpected(Error(ErrorCode::kInvalidArgument, message));
}

Error NoSuch(const char* what, unsigned number) {
  return {ErrorCode::kInvalidArgument,
          std::to_string(number) + " is not the number of any " + std::string(what)};
}

bool IsFloat(DType dtype) { return dtype >= DType::kFloat16; }

}  // namespace

std::size_t SizeOf(DType dtype) {
  const Type* type = Find(kTypes, dtype);
  return type != nullptr ? type->bytes : 0;
}

std::string_view Name(DType dtype) {
  const Type* type = Find(kTypes, dtype);
  return type != nullptr ? type->name : "unknown";
}

std::string_view Name(Op op) {
  const Operation* operation = Find(kOperations, op);
  return operation != nullptr ? operation->name : "unknown";
}

Result<DType> ParseDType(std::string_view name) { return Parse<DType>("dtype", kTypes, name); }

Result<Op> ParseOp(std::string_view name) { return Parse<Op>("op", kOperations, name); }

Result<void> Supports(Op op, DType dtype) {
  const Operation* operation = Find(kOperations, op);
  if (operation == nullptr) return std::unexpected(NoSuch("op", static_cast<unsigned>(op)));
  const Type* type = Find(kTypes, dtype);
  if (type == nullptr) return std::unexpected(NoSuch("dtype", static_cast<unsigned>(dtype)));
  const Of other = IsFloat(dtype) ? Of::kIntegers : Of::kFloats;
  if (operation->of != other) return {};
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument, std::string(operation->name) + " works on " +
                                             (other == Of::kIntegers ? "integers" : "floats") +
                                             ", not on " + std::string(type->name)));
}

}  // namespace hoplite
