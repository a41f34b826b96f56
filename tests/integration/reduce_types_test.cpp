// Every type with every operation between real nodes, beside a plain loop. The kernels themselves,
// with rounding, NaN and overflow, are tested in tests/unit/reduce.
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using namespace std::chrono_literals;

constexpr std::size_t kSources = 4;
constexpr std::size_t kElements = 40'001;  // of one byte: not small, not whole blocks

// Whole numbers from 0 to 3: their sums and products are exact in every type, their means in each
// that has them.
unsigned Value(std::size_t source, std::size_t element) {
  return static_cast<unsigned>((element * 7 + source * 5 + element / 11) % 4);
}

template <typename T>
void AppendBits(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void Append(std::string& bytes, DType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::kInt8:
    case DType::kUint8:
      return AppendBits(bytes, static_cast<std::uint8_t>(value));
    case DType::kInt16:
    case DType::kUint16:
      return AppendBits(bytes, static_cast<std::uint16_t>(value));
    case DType::kInt32:
    case DType::kUint32:
      return AppendBits(bytes, static_cast<std::uint32_t>(value));
    case DType::kInt64:
    case DType::kUint64:
      return AppendBits(bytes, static_cast<std::uint64_t>(value));
    case DType::kFloat16:
      return AppendBits(bytes, static_cast<_Float16>(single));
    case DType::kBFloat16:
      return AppendBits(bytes,
                        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(single) >> 16));
    case DType::kFloat32:
      return AppendBits(bytes, single);
    case DType::kFloat64:
      return AppendBits(bytes, value);
  }
}

unsigned Apply(Op op, unsigned a, unsigned b) {
  switch (op) {
    case Op::kSum:
    case Op::kMean:
      return a + b;
    case Op::kProd:
      return a * b;
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
  }
  return 0;
}

class ReduceOfType : public ::testing::TestWithParam<DType> {};

TEST_P(ReduceOfType, EveryOperationIsThatOfAPlainLoop) {
  const DType dtype = GetParam();
  const std::size_t elements = kElements * 2;
  Cluster cluster({.nodes = kSources, .memory_bytes = 32_MiB});
  std::vector<ObjectId> sources;
  for (std::size_t i = 0; i < kSources; ++i) {
    std::string bytes;
    for (std::size_t e = 0; e < elements; ++e) Append(bytes, dtype, Value(i, e));
    const auto id = cluster.client(i).Put(bytes);
    ASSERT_TRUE(id) << id.error().ToString();
    sources.push_back(*id);
  }
  auto client = cluster.client(0);
  for (std::uint8_t number = 1; number <= static_cast<std::uint8_t>(Op::kMean); ++number) {
    const Op op{number};
    if (!Supports(op, dtype)) continue;
    std::string expected;
    for (std::size_t e = 0; e < elements; ++e) {
      unsigned value = Value(0, e);
      for (std::size_t i = 1; i < kSources; ++i) value = Apply(op, value, Value(i, e));
      Append(expected, dtype, op == Op::kMean ? value / double{kSources} : value);
    }
    auto reduction = client.Reduce({.sources = sources, .op = op, .dtype = dtype, .timeout = 30s});
    ASSERT_TRUE(reduction) << reduction.error().ToString();
    const auto outcome = reduction->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    const auto target = client.Get(reduction->target(), {.timeout = 30s});
    ASSERT_TRUE(target) << target.error().ToString();
    EXPECT_TRUE(testing::Text(*target) == expected) << Name(op) << " of " << Name(dtype);
    ASSERT_TRUE(client.Delete(reduction->target()));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ReduceOfType,
                         ::testing::Values(DType::kInt8, DType::kInt16, DType::kInt32,
                                           DType::kInt64, DType::kUint8, DType::kUint16,
                                           DType::kUint32, DType::kUint64, DType::kFloat16,
                                           DType::kBFloat16, DType::kFloat32, DType::kFloat64),
                         [](const auto& type) { return std::string(Name(type.param)); });

}  // namespace
}  // namespace hoplite
