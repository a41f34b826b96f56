// What the tests of reductions share: sources whose sum tells what is in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace hoplite::testing {

// Source i holds 2^i in every element plus a term that depends on the element's place: the sum
// tells which sources are in it, how often, and whether blocks were mixed up. All sums are exact, also
// those of double.
template <typename Number = std::int64_t>
std::vector<Number> Source(std::size_t i, std::size_t elements) {
  std::vector<Number> values(elements);
  for (std::size_t e = 0; e < elements; ++e) {
    values[e] = static_cast<Number>((std::int64_t{1} << i) + (static_cast<std::int64_t>(e) << 24));
  }
  return values;
}

template <typename Number>
std::span<const std::byte> Bytes(const std::vector<Number>& values) {
  return std::as_bytes(std::span(values));
}

inline ObjectId IdOf(std::size_t i) { return ObjectId::FromName("source " + std::to_string(i)); }

inline std::vector<ObjectId> Ids(std::size_t n) {
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < n; ++i) ids.push_back(IdOf(i));
  return ids;
}

template <typename Number = std::int64_t>
void PutSource(Client client, std::size_t i, std::size_t elements) {
  const auto values = Source<Number>(i, elements);
  const auto id = client.Put(Bytes(values), {.id = IdOf(i)});
  ASSERT_TRUE(id) << id.error().ToString();
}

// Empty, or what is wrong with the target: it must be the sum of exactly these sources, divided by a
// number.
template <typename Number>
std::string WrongQuotient(const Result<Buffer>& target, const std::vector<ObjectId>& used,
                          std::size_t elements, Number by) {
  if (!target) return target.error().ToString();
  if (target->size() != elements * sizeof(Number)) {
    return "has " + std::to_string(target->size()) + " bytes";
  }
  std::int64_t powers = 0;
  for (std::size_t i = 0; i < 62; ++i) {
    if (std::ranges::find(used, IdOf(i)) != used.end()) powers += std::int64_t{1} << i;
  }
  for (std::size_t e = 0; e < elements; ++e) {
    Number got = 0;
    std::memcpy(&got, target->bytes().data() + e * sizeof(got), sizeof(got));
    const auto place = static_cast<std::int64_t>(e) << 24;
    const auto sum = static_cast<Number>(powers + static_cast<std::int64_t>(used.size()) * place);
    const Number expected = sum / by;
    if (got != expected) {
      return "element " + std::to_string(e) + " is " + std::to_string(got) + ", not " +
             std::to_string(expected);
    }
  }
  return {};
}

inline std::string WrongSum(const Result<Buffer>& target, const std::vector<ObjectId>& used,
                            std::size_t elements) {
  return WrongQuotient<std::int64_t>(target, used, elements, 1);
}

// Of sources of double.
inline std::string WrongMean(const Result<Buffer>& target, const std::vector<ObjectId>& used,
                             std::size_t elements) {
  return WrongQuotient(target, used, elements, static_cast<double>(used.size()));
}

// Of the stores of the first nodes.
inline std::vector<std::uint64_t> UsedBytes(Cluster& cluster, std::size_t nodes) {
  std::vector<std::uint64_t> used;
  for (std::size_t i = 0; i < nodes; ++i) used.push_back(cluster.node(i).usage().used_bytes);
  return used;
}

inline ReduceOptions Sum(std::size_t sources) {
  ReduceOptions options;
  options.sources = Ids(sources);
  options.dtype = DType::kInt64;
  options.timeout = std::chrono::seconds(30);
  return options;
}

inline ReduceOptions Mean(std::size_t sources) {
  ReduceOptions options = Sum(sources);
  options.op = Op::kMean;
  options.dtype = DType::kFloat64;
  return options;
}

}  // namespace hoplite::testing
