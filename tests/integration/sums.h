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
// tells which sources are in it, how often, and whether blocks were mixed up.
inline std::vector<std::int64_t> Source(std::size_t i, std::size_t elements) {
  std::vector<std::int64_t> values(elements);
  for (std::size_t e = 0; e < elements; ++e) {
    values[e] = (std::int64_t{1} << i) + (static_cast<std::int64_t>(e) << 24);
  }
  return values;
}

inline std::span<const std::byte> Bytes(const std::vector<std::int64_t>& values) {
  return std::as_bytes(std::span(values));
}

inline ObjectId IdOf(std::size_t i) { return ObjectId::FromName("source " + std::to_string(i)); }

inline std::vector<ObjectId> Ids(std::size_t n) {
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < n; ++i) ids.push_back(IdOf(i));
  return ids;
}

inline void PutSource(Client client, std::size_t i, std::size_t elements) {
  const auto values = Source(i, elements);
  const auto id = client.Put(Bytes(values), {.id = IdOf(i)});
  ASSERT_TRUE(id) << id.error().ToString();
}

// Empty, or what is wrong with the target: it must be the sum of exactly these sources.
inline std::string WrongSum(const Result<Buffer>& target, const std::vector<ObjectId>& used,
                            std::size_t elements) {
  if (!target) return target.error().ToString();
  if (target->size() != elements * sizeof(std::int64_t)) {
    return "has " + std::to_string(target->size()) + " bytes";
  }
  std::int64_t powers = 0;
  for (std::size_t i = 0; i < 62; ++i) {
    if (std::ranges::find(used, IdOf(i)) != used.end()) powers += std::int64_t{1} << i;
  }
  for (std::size_t e = 0; e < elements; ++e) {
    std::int64_t got = 0;
    std::memcpy(&got, target->bytes().data() + e * sizeof(got), sizeof(got));
    const auto place = static_cast<std::int64_t>(e) << 24;
    const std::int64_t expected = powers + static_cast<std::int64_t>(used.size()) * place;
    if (got != expected) {
      return "element " + std::to_string(e) + " is " + std::to_string(got) + ", not " +
             std::to_string(expected);
    }
  }
  return {};
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

}  // namespace hoplite::testing
