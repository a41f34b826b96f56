// Reductions whose sources and partial results together are more than a store holds (R45).
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::IdOf;
using testing::Ids;
using testing::kSoon;
using testing::PutSource;
using testing::Sum;
using testing::WrongSum;
using namespace std::chrono_literals;

constexpr std::size_t kSmall = 16_KiB / sizeof(std::int64_t);  // elements: lives in the directory
constexpr std::size_t kLarge = 1_MiB / sizeof(std::int64_t);

std::chrono::microseconds ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

ReduceOptions FirstOf(std::size_t sources, std::chrono::milliseconds timeout) {
  ReduceOptions options = Sum(sources);
  options.timeout = timeout;
  return options;
}

// Sources above 62 don't fit the words of sums.h.
ObjectId OnesId(std::size_t i) { return ObjectId::FromName("ones " + std::to_string(i)); }

ReduceOptions Ones(std::size_t sources) {
  ReduceOptions options;
  for (std::size_t i = 0; i < sources; ++i) options.sources.push_back(OnesId(i));
  options.dtype = DType::kInt64;
  options.timeout = 20s;
  return options;
}

void PutOnes(Client client, std::size_t i, std::size_t elements) {
  const std::vector<std::int64_t> ones(elements, 1);
  const auto put = client.Put(testing::Bytes(ones), {.id = OnesId(i), .timeout = 20s});
  ASSERT_TRUE(put) << put.error().ToString();
}

void ExpectCount(const Result<Buffer>& target, std::size_t count, std::size_t elements) {
  ASSERT_TRUE(target) << target.error().ToString();
  const std::vector<std::int64_t> expected(elements, static_cast<std::int64_t>(count));
  EXPECT_TRUE(std::ranges::equal(target->bytes(), testing::Bytes(expected)));
}

TEST(ReduceMemory, AFixedOrderOfMoreThanTheStoreWaitsForItsFirstWithoutTheOthersInIt) {
  constexpr std::size_t kSources = 100;
  Cluster cluster({.nodes = 2});
  const std::size_t small = cluster.Add({.memory_bytes = 1_MiB});
  ReduceOptions options = Ones(kSources);
  options.fixed_order = true;
  auto sum = cluster.client(small).Reduce(options);
  ASSERT_TRUE(sum) << sum.error().ToString();
  for (std::size_t i = kSources; i-- > 0;) PutOnes(cluster.client(0), i, kSmall);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ExpectCount(cluster.client(1).Get(sum->target(), kSoon), kSources, kSmall);
}

// A draft leaves no room for a source: nothing moves until it goes.
TEST(ReduceMemory, AFullStoreIsWaitedForWithoutSpinning) {
  Cluster cluster({.nodes = 1});
  const std::size_t full = cluster.Add({.memory_bytes = 1_MiB});
  for (std::size_t i = 0; i < 4; ++i) PutSource(cluster.client(0), i, kSmall);
  auto client = cluster.client(full);
  auto filling = client.Create(ObjectId::FromName("filling"), 1_MiB);
  ASSERT_TRUE(filling) << filling.error().ToString();
  auto sum = client.Reduce(FirstOf(4, 30s));
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto before = ProcessorTime();
  EXPECT_FALSE(sum->Wait(2s));
  EXPECT_LT(ProcessorTime() - before, 1s);
  filling->Abort();
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), Ids(4), kSmall), "");
}

// As many calls as there would be room for if the sources came first: 64 sources, and half as many
// sums.
TEST(ReduceMemory, TheOrderOfCallsDoesNotDecideWhetherItFits) {
  constexpr std::size_t kSources = 64;
  for (const std::uint32_t degree : {0u, 1u, 2u}) {
    Cluster cluster({.nodes = 1, .memory_bytes = 112_MiB});
    ReduceOptions options = Ones(kSources);
    options.degree = degree;
    auto sum = cluster.client(0).Reduce(options);
    ASSERT_TRUE(sum) << sum.error().ToString();
    for (std::size_t i = 0; i < kSources; ++i) PutOnes(cluster.client(0), i, kLarge);
    const auto outcome = sum->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    ExpectCount(cluster.client(0).Get(sum->target(), kSoon), kSources, kLarge);
  }
}

// A line that goes to and fro between two nodes: 16 partial results on each, and room for 6.
TEST(ReduceMemory, WhatIsDrainedOrCannotGoOnYetMakesRoomForTheOthers) {
  constexpr std::size_t kSources = 32;
  Cluster cluster({.nodes = 2, .memory_bytes = 22_MiB});
  ReduceOptions options = Ones(kSources);
  options.fixed_order = true;
  for (std::size_t i = 0; i < kSources; ++i) PutOnes(cluster.client(i % 2), i, kLarge);
  auto sum = cluster.client(0).Reduce(options);
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ExpectCount(cluster.client(1).Get(sum->target(), kSoon), kSources, kLarge);
}

TEST(ReduceMemory, SourcesOfANodeWithoutRoomAreFoldedElsewhere) {
  Cluster cluster({.nodes = 1});
  const std::size_t full = cluster.Add({.memory_bytes = 7_MiB});
  for (std::size_t i = 0; i < 3; ++i) PutOnes(cluster.client(full), i, 2 * kLarge);
  auto sum = cluster.client(0).Reduce(Ones(3));
  ASSERT_TRUE(sum) << sum.error().ToString();
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ExpectCount(cluster.client(0).Get(sum->target(), kSoon), 3, 2 * kLarge);
}

}  // namespace
}  // namespace hoplite
