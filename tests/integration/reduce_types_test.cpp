// Every type with every operation between real nodes, beside a plain loop. The kernels themselves,
// with rounding, NaN and overflow, are tested in tests/unit/reduce.
#include "base/reduce_types.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reduce_table.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using testing::Cluster;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::size_t kSources = 4;
constexpr std::size_t kElements = 40'001;  // of one byte: not small, not whole blocks

// Whole numbers from 0 to 3: their sums and products are exact in every type, their means in each
// that has them.
unsigned Value(std::size_t source, std::size_t element) {
  return static_cast<unsigned>((element * 7 + source * 5 + element / 11) % 4);
}

// A number that needs no sign, as a float of this type that has it exactly.
std::uint64_t FloatBits(const DTypeRow& type, double value) {
  if (value == 0) return 0;
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0);
  const std::uint64_t unit = std::uint64_t{1} << type.mantissa_bits;
  const std::uint64_t one = (InfinityOf(type) / 2) & ~(unit - 1);
  return one + ((std::bit_cast<std::uint64_t>(value) - kOne) >> (52 - type.mantissa_bits));
}

void Append(std::string& bytes, DType dtype, double value) {
  const DTypeRow& type = *RowOf(kDTypeRows, static_cast<std::uint32_t>(dtype));
  const std::uint64_t bits =
      type.kind == ElementKind::kFloat ? FloatBits(type, value) : static_cast<std::uint64_t>(value);
  bytes.append(reinterpret_cast<const char*>(&bits), type.bytes);
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
  for (const Op op : AllOps()) {
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

// --- what a Put notes

// How many elements, from those that the directory keeps to those that are made by a tree.
class NotedDType : public ::testing::TestWithParam<std::size_t> {
 protected:
  template <typename T>
  ObjectId Put(std::size_t node, T value) {
    const std::vector<T> array(GetParam(), value);
    const auto id = cluster_.client(node).Put(array);
    EXPECT_TRUE(id) << id.error().ToString();
    return id.value_or(ObjectId());
  }
  Result<Buffer> Sum(const ReduceOptions& options) {
    const auto reduction = cluster_.client(0).Reduce(options);
    if (!reduction) return Unexpected(reduction.error());
    if (const auto outcome = reduction->Wait(30s); !outcome) return Unexpected(outcome.error());
    return cluster_.client(0).Get(reduction->target(), {.timeout = 30s});
  }
  std::string Complaint(const ReduceOptions& options) {
    const auto sum = Sum(options);
    if (sum) return "";
    EXPECT_EQ(sum.error().code, ErrorCode::kInvalidArgument);
    return sum.error().message;
  }

  Cluster cluster_{{.nodes = 2, .memory_bytes = 32_MiB}};
};

TEST_P(NotedDType, IsThatOfTheSumWhereNothingWasAsked) {
  const ObjectId x = Put(0, 1.0);
  const ObjectId y = Put(1, 2.0);
  const auto sum = Sum({.sources = {x, y}});
  ASSERT_TRUE(sum) << sum.error().ToString();
  EXPECT_EQ(sum->metadata(), "");
  const auto doubles = sum->as<double>().value();
  EXPECT_EQ(doubles.size(), GetParam());
  EXPECT_TRUE(std::ranges::all_of(doubles, [](double value) { return value == 3.0; }));
  const auto again = Sum({.sources = {sum->id(), x}});
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ(again->as<double>().value()[0], 4.0) << "a sum says what it is, too";
}

TEST_P(NotedDType, SourcesThatDifferAreRefusedAlsoWhenOneIsLate) {
  const ObjectId x = Put(0, std::int32_t{1});
  const ObjectId y = Put(1, 2.0F);
  EXPECT_THAT(Complaint({.sources = {x, y}}), AllOf(HasSubstr("int32"), HasSubstr("float32"),
                                                    HasSubstr(x.ToHex()), HasSubstr(y.ToHex())));
  const ObjectId late = ObjectId::FromName("late");
  const auto waits = cluster_.client(0).Reduce({.sources = {x, late}});
  ASSERT_TRUE(waits);
  const std::vector<float> floats(GetParam(), 2.0F);
  ASSERT_TRUE(cluster_.client(1).Put(floats, {.id = late}));
  const auto outcome = waits->Wait(30s);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, AllOf(HasSubstr("int32"), HasSubstr("float32")));
}

TEST_P(NotedDType, MayNotBeContradictedAndBytesNeedOne) {
  const ObjectId x = Put(0, 1.0);
  EXPECT_THAT(Complaint({.sources = {x}, .dtype = DType::kFloat32}),
              AllOf(HasSubstr("float32"), HasSubstr("float64"), HasSubstr(x.ToHex())));
  EXPECT_THAT(Complaint({.sources = {x}, .op = Op::kXor}), HasSubstr("float64"));
  const ObjectId bytes = Put(1, std::uint8_t{1});
  EXPECT_THAT(Complaint({.sources = {bytes}}), HasSubstr("give the reduction one"));
  EXPECT_EQ(Complaint({.sources = {bytes}, .dtype = DType::kUint8}), "");
}

TEST_P(NotedDType, IsInTheObjectsPicture) {
  const ObjectId doubles = Put(0, 1.0);
  const ObjectId bytes = Put(1, std::uint8_t{1});
  EXPECT_EQ(cluster_.client(1).Info(doubles)->dtype, DType::kFloat64);
  EXPECT_EQ(cluster_.client(0).Info(bytes)->dtype, std::nullopt);
}

TEST_P(NotedDType, LeavesRoomForAsMuchMetadata) {
  const std::string metadata(4096, 'm');
  const std::vector<float> array(GetParam(), 1.0F);
  const auto id = cluster_.client(0).Put(array, {.metadata = metadata});
  ASSERT_TRUE(id) << id.error().ToString();
  const auto view = cluster_.client(1).Get(*id, {.timeout = 30s});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->metadata(), metadata);
  EXPECT_EQ(cluster_.client(1).Info(*id)->metadata, metadata);
}

INSTANTIATE_TEST_SUITE_P(Elements, NotedDType, ::testing::Values(8, 4'000, 400'000));

INSTANTIATE_TEST_SUITE_P(Types, ReduceOfType, ::testing::ValuesIn(AllDTypes()),
                         [](const auto& type) { return std::string(Name(type.param)); });

}  // namespace
}  // namespace hoplite
