#include "base/reduce_types.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/reduce_table.h"
#include "base/try.h"

namespace hoplite {
namespace {

template <typename Enum>
std::uint32_t Number(Enum value) {
  return static_cast<std::uint32_t>(value);
}

template <typename Enum, typename Row, std::size_t kRows>
std::vector<Enum> All(const std::array<Row, kRows>& rows) {
  std::vector<Enum> all;
  for (const Row& row : rows) all.push_back(row.value);
  return all;
}

template <typename Enum, typename Row, std::size_t kRows>
Result<Enum> Parse(const char* what, const std::array<Row, kRows>& rows, std::string_view name) {
  const auto row = std::ranges::find(rows, name, &Row::name);
  if (row != rows.end()) return row->value;
  std::string message =
      "'" + std::string(name.substr(0, 64)) + "' is no " + what + "; choose one of ";
  for (const Row& allowed : rows) {
    if (&allowed != rows.data()) message += ", ";
    message += allowed.name;
  }
  return std::unexpected(Error(ErrorCode::kInvalidArgument, message));
}

template <typename Row, std::size_t kRows>
Result<const Row*> Require(const char* what, const std::array<Row, kRows>& rows,
                           std::uint32_t number) {
  if (const Row* row = RowOf(rows, number)) return row;
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument,
            std::to_string(number) + " is not the number of any " + std::string(what)));
}

Result<const DTypeRow*> RequireDType(std::uint32_t number) {
  return Require("dtype", kDTypeRows, number);
}

Result<const OpRow*> RequireOp(std::uint32_t number) { return Require("op", kOpRows, number); }

}  // namespace

std::vector<DType> AllDTypes() { return All<DType>(kDTypeRows); }

std::vector<Op> AllOps() { return All<Op>(kOpRows); }

Result<DType> DTypeNumbered(std::uint32_t number) {
  return RequireDType(number).transform([](const DTypeRow* type) { return type->value; });
}

Result<Op> OpNumbered(std::uint32_t number) {
  return RequireOp(number).transform([](const OpRow* op) { return op->value; });
}

std::size_t SizeOf(DType dtype) {
  const DTypeRow* type = RowOf(kDTypeRows, Number(dtype));
  return type != nullptr ? type->bytes : 0;
}

std::string_view Name(DType dtype) {
  const DTypeRow* type = RowOf(kDTypeRows, Number(dtype));
  return type != nullptr ? type->name : "unknown";
}

std::string_view Name(Op op) {
  const OpRow* operation = RowOf(kOpRows, Number(op));
  return operation != nullptr ? operation->name : "unknown";
}

Result<DType> ParseDType(std::string_view name) { return Parse<DType>("dtype", kDTypeRows, name); }

Result<Op> ParseOp(std::string_view name) { return Parse<Op>("op", kOpRows, name); }

Result<void> Supports(Op op, DType dtype) {
  TRY_ASSIGN(const OpRow* operation, RequireOp(Number(op)));
  TRY_ASSIGN(const DTypeRow* type, RequireDType(Number(dtype)));
  const bool is_float = type->kind == ElementKind::kFloat;
  const WorksOn others = is_float ? WorksOn::kIntegers : WorksOn::kFloats;
  if (operation->works_on != others) return {};
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument, std::string(operation->name) + " works on " +
                                             (is_float ? "integers" : "floats") + ", not on " +
                                             std::string(type->name)));
}

}  // namespace hoplite
