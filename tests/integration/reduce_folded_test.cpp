// Sources of which the first bytes only are elements: the target has the sum of those, and what lies
// behind them in all sources as it is.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::IdOf;
using testing::kSoon;
using testing::Mean;
using testing::Sum;

template <typename Number>
std::string Text(const std::vector<Number>& elements, const std::string& tail) {
  return std::string(reinterpret_cast<const char*>(elements.data()),
                     elements.size() * sizeof(Number)) +
         tail;
}

// Of one source on each node: the target that each of them reads.
template <typename Number>
void ExpectTarget(std::size_t nodes, std::size_t elements, std::size_t tail_bytes,
                  ReduceOptions options) {
  Cluster cluster({.nodes = nodes, .memory_bytes = 32_MiB});
  const std::string tail = testing::Pattern(tail_bytes, 7);
  std::vector<Number> expected(elements);
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto values = testing::Source<Number>(i, elements);
    ASSERT_TRUE(cluster.client(i).Put(Text(values, tail), {.id = IdOf(i)}));
    for (std::size_t e = 0; e < elements; ++e) expected[e] += values[e];
  }
  const Number by = options.op == Op::kMean ? static_cast<Number>(nodes) : 1;
  for (Number& one : expected) one /= by;
  options.folded_bytes = elements * sizeof(Number);
  const auto reduction = cluster.client(0).Reduce(options);
  ASSERT_TRUE(reduction) << reduction.error().ToString();
  const auto outcome = reduction->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto target = cluster.client(i).Get(reduction->target(), kSoon);
    ASSERT_TRUE(target) << target.error().ToString();
    EXPECT_TRUE(testing::Text(*target) == Text(expected, tail)) << "at node " << i;
  }
}

// Elements end within a block and at the end of one; the tail is of no whole elements, is a part of a
// block, or is many blocks and stripes.
TEST(FoldedBytes, OfASumInATree) {
  ExpectTarget<std::int64_t>(1, 40'000, 3, Sum(1));
  ExpectTarget<std::int64_t>(2, 40'000, 1, Sum(2));
  ExpectTarget<std::int64_t>(3, 32'768, 100'001, Sum(3));
  ExpectTarget<std::int64_t>(4, 1, 300'001, Sum(4));
}

TEST(FoldedBytes, OfSmallSources) {
  ExpectTarget<std::int64_t>(3, 100, 13, Sum(3));
  ExpectTarget<double>(3, 100, 13, Mean(3));
}

TEST(FoldedBytes, OfAMean) { ExpectTarget<double>(3, 40'000, 5'003, Mean(3)); }

TEST(FoldedBytes, OfARing) {
  ReduceOptions sum = Sum(4);
  ReduceOptions mean = Mean(4);
  sum.everyone_reads = mean.everyone_reads = true;
  ExpectTarget<std::int64_t>(4, 100'000, 200'003, sum);
  ExpectTarget<double>(4, 300'007, 9, mean);
}

}  // namespace
}  // namespace hoplite
