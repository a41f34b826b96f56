// Objects whose sizes don't fit into 32 bits.
#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using namespace std::chrono_literals;

// Every 4 KiB hold their own position, so a piece that landed elsewhere is seen.
void Fill(std::span<std::byte> bytes) {
  for (std::uint64_t at = 0; at + sizeof at <= bytes.size(); at += 4096) {
    std::memcpy(bytes.data() + at, &at, sizeof at);
  }
}

bool Filled(std::span<const std::byte> bytes) {
  for (std::uint64_t at = 0; at + sizeof at <= bytes.size(); at += 4096) {
    std::uint64_t found = 0;
    std::memcpy(&found, bytes.data() + at, sizeof found);
    if (found != at) return false;
  }
  return true;
}

TEST(Large, BeyondFourGibibytes) {
  constexpr std::uint64_t kSize = 4_GiB + 1_MiB + 5;
  testing::Cluster cluster({.nodes = 2, .memory_bytes = kSize + 1_MiB});
  const ObjectId id = ObjectId::Random();
  auto draft = cluster.client(0).Create(id, kSize);
  ASSERT_TRUE(draft) << draft.error().ToString();
  Fill(draft->data());
  ASSERT_TRUE(draft->Advance(kSize));
  ASSERT_TRUE(draft->Seal());
  const auto view = cluster.client(1).Get(id, {.timeout = 120s});
  ASSERT_TRUE(view) << view.error().ToString();
  ASSERT_EQ(view->bytes().size(), kSize);
  EXPECT_TRUE(Filled(view->bytes()));
}

TEST(Large, ReduceOfOneGibibyte) {
  constexpr std::size_t kElements = 1_GiB / sizeof(std::int64_t);
  testing::Cluster cluster({.nodes = 2, .memory_bytes = 2_GiB + 64_MiB});
  for (std::size_t i = 0; i < 2; ++i) testing::PutSource(cluster.client(i), i, kElements);
  auto sum = testing::Sum(2);
  sum.timeout = 120s;
  auto reduction = cluster.client(0).Reduce(sum);
  ASSERT_TRUE(reduction) << reduction.error().ToString();
  const auto outcome = reduction->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  const auto target = cluster.client(0).Get(outcome->target, {.timeout = 120s});
  EXPECT_EQ(testing::WrongSum(target, outcome->used, kElements), "");
}

}  // namespace
}  // namespace hoplite
