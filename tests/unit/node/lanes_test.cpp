// Over how many connections a grant is fetched (R19).
#include "node/pull/lanes.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::node {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kBytes = 256_KiB;

// An empty copy with memory for so many of its bytes.
store::CopyPtr CopyOf(std::uint32_t stripes, std::uint64_t memory_bytes = kBytes) {
  const auto memory = std::make_shared<std::vector<std::byte>>(memory_bytes);
  const std::span<std::byte> bytes = *memory;
  return std::make_shared<store::Copy>(ObjectId::FromName("x"), Layout::For(kBytes, stripes), "",
                                       bytes, 0, [memory] { memory->clear(); });
}

TEST(Lanes, AGrantOfALargeObjectHasTwo) {
  EXPECT_THAT(SplitIntoLanes(*CopyOf(2), 0b11, kBytes), ElementsAre(0b01, 0b10));
  EXPECT_THAT(SplitIntoLanes(*CopyOf(5), 0b11111, kBytes), ElementsAre(0b10101, 0b01010));
  EXPECT_THAT(SplitIntoLanes(*CopyOf(2), 0b11, kBytes + 1), ElementsAre(0b11));
  EXPECT_THAT(SplitIntoLanes(*CopyOf(1), 0b1, kBytes), ElementsAre(0b1));
}

TEST(Lanes, AGrantBesideOthersHasOne) {
  const store::CopyPtr copy = CopyOf(4);
  EXPECT_THAT(SplitIntoLanes(*copy, 0b0011, kBytes), ElementsAre(0b0011));
  copy->Advance(2, copy->layout().stripe_block_count(2));
  EXPECT_THAT(SplitIntoLanes(*copy, 0b0011, kBytes), ElementsAre(0b0011));
  copy->Advance(3, copy->layout().stripe_block_count(3));
  EXPECT_THAT(SplitIntoLanes(*copy, 0b0011, kBytes), ElementsAre(0b0001, 0b0010))
      << "the rest is there";
}

TEST(Lanes, AWindowHasOne) {
  EXPECT_THAT(SplitIntoLanes(*CopyOf(2, 64_KiB), 0b11, kBytes), ElementsAre(0b11));
}

}  // namespace
}  // namespace hoplite::node
