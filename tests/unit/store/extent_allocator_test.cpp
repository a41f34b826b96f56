#include "store/extent_allocator.h"

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::store {
namespace {

TEST(ExtentAllocator, FillsTheCapacityExactlyAndNoMore) {
  ExtentAllocator allocator(1_MiB);
  const auto whole = allocator.Allocate(1_MiB);
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, (Extent{0, 1_MiB}));
  EXPECT_FALSE(allocator.Allocate(1));
  EXPECT_EQ(allocator.used_bytes(), 1_MiB);
  EXPECT_EQ(allocator.largest_hole(), 0u);
  allocator.Free(*whole);
  EXPECT_EQ(allocator.used_bytes(), 0u);
  EXPECT_EQ(allocator.largest_hole(), 1_MiB);
}

TEST(ExtentAllocator, RefusesWhatCanNeverFit) {
  ExtentAllocator allocator(1_MiB);
  EXPECT_FALSE(allocator.Allocate(1_MiB + 1));
  EXPECT_FALSE(allocator.Allocate(~std::uint64_t{0}));
  EXPECT_FALSE(allocator.FitsEver(~std::uint64_t{0}));
  EXPECT_TRUE(allocator.FitsEver(1_MiB));
}

TEST(ExtentAllocator, ZeroBytesTakeNothing) {
  ExtentAllocator allocator(64);
  const auto nothing = allocator.Allocate(0);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->size, 0u);
  allocator.Free(*nothing);
  EXPECT_TRUE(allocator.Allocate(64));
}

TEST(ExtentAllocator, ReusesTheBestHoleBeforeTheUntouchedTail) {
  ExtentAllocator allocator(1_MiB);
  const auto small = allocator.Allocate(4_KiB);
  allocator.Allocate(64);
  const auto large = allocator.Allocate(16_KiB);
  allocator.Allocate(64);
  allocator.Free(*small);
  allocator.Free(*large);
  EXPECT_EQ(allocator.Allocate(3_KiB)->offset, small->offset);
  EXPECT_EQ(allocator.Allocate(8_KiB)->offset, large->offset);
}

TEST(ExtentAllocator, WhatGoesSoonLiesAtTheEnd) {
  ExtentAllocator allocator(1024);
  const auto room = allocator.AllocateAtEnd(100);
  EXPECT_EQ(room, (Extent{896, 128}));
  EXPECT_EQ(allocator.Allocate(64), (Extent{0, 64}));
  EXPECT_FALSE(allocator.AllocateAtEnd(896)) << "the last hole is smaller";
  EXPECT_FALSE(allocator.AllocateAtEnd(0));
  EXPECT_FALSE(allocator.AllocateAtEnd(2048));
  allocator.Free(*room);
  EXPECT_EQ(allocator.largest_hole(), 960u);
}

TEST(ExtentAllocator, GivesOutNoMoreThanMayBeUsedByNow) {
  ExtentAllocator allocator(1000 * 64, 10 * 64);
  EXPECT_TRUE(allocator.FitsEver(1000 * 64));
  EXPECT_FALSE(allocator.Allocate(11 * 64));
  EXPECT_TRUE(allocator.Allocate(8 * 64));
  allocator.Extend(20 * 64);
  EXPECT_EQ(allocator.free_bytes(), 12u * 64);
  EXPECT_EQ(allocator.largest_hole(), 12u * 64);  // joined with what was left
  EXPECT_EQ(allocator.not_yet_usable(), 980u * 64);
  allocator.EndHere();
  EXPECT_EQ(allocator.capacity(), 20u * 64);
  EXPECT_FALSE(allocator.FitsEver(21 * 64));
}

TEST(ExtentAllocator, JoinsNeighboursInAnyOrderOfFreeing) {
  ExtentAllocator allocator(3 * 64);
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    std::vector<Extent> extents;
    for (int i = 0; i < 3; ++i) extents.push_back(*allocator.Allocate(64));
    for (const int i : order) allocator.Free(extents[i]);
    EXPECT_EQ(allocator.largest_hole(), 3u * 64);
  }
}

TEST(ExtentAllocator, LargeObjectsBeginOnAPage) {
  ExtentAllocator allocator(8_MiB);
  ASSERT_TRUE(allocator.Allocate(100));
  const auto large = allocator.Allocate(2_MiB + 5);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->offset % ExtentAllocator::kPage, 0u);
  // The gap before it is not lost.
  EXPECT_LT(allocator.Allocate(512)->offset, large->offset);
}

TEST(ExtentAllocator, ALargeObjectTakesAnUnalignedHoleRatherThanFail) {
  ExtentAllocator allocator(2_MiB + 64);
  ASSERT_TRUE(allocator.Allocate(64));
  const auto large = allocator.Allocate(2_MiB);
  ASSERT_TRUE(large);
  EXPECT_EQ(*large, (Extent{64, 2_MiB}));
}

// Against a plain list of what is taken: no overlap, aligned, within the capacity, and a refusal
// only when no gap is large enough.
TEST(ExtentAllocator, AgreesWithAPlainModel) {
  constexpr std::uint64_t kCapacity = 16_MiB;
  std::mt19937_64 random(11);
  ExtentAllocator allocator(kCapacity);
  std::map<std::uint64_t, std::uint64_t> taken;
  const auto largest_gap = [&] {
    std::uint64_t at = 0;
    std::uint64_t gap = 0;
    for (const auto& [offset, size] : taken) {
      gap = std::max(gap, offset - at);
      at = offset + size;
    }
    return std::max(gap, kCapacity - at);
  };
  int refusals = 0;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 5 < 3) {
      const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 3_MiB : 100_KiB);
      const std::uint64_t gap = largest_gap();
      const auto extent = allocator.Allocate(bytes);
      ASSERT_EQ(extent.has_value(), bytes <= gap) << "step " << step;
      if (!extent) {
        ++refusals;
        continue;
      }
      ASSERT_GE(extent->size, bytes);
      ASSERT_LE(extent->end(), kCapacity);
      ASSERT_EQ(extent->offset % ExtentAllocator::kGranule, 0u);
      const auto next = taken.lower_bound(extent->offset);
      if (next != taken.end()) {
        ASSERT_LE(extent->end(), next->first);
      }
      if (next != taken.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second, extent->offset);
      }
      taken.emplace(extent->offset, extent->size);
    } else if (!taken.empty()) {
      const auto victim = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      allocator.Free({victim->first, victim->second});
      taken.erase(victim);
    }
    ASSERT_EQ(allocator.largest_hole(), largest_gap());
  }
  EXPECT_GT(refusals, 10);
}

TEST(ExtentAllocatorDeathTest, FreeingTwiceIsCaught) {
  ExtentAllocator allocator(1_MiB);
  const auto extent = allocator.Allocate(64);
  allocator.Free(*extent);
  EXPECT_DEATH(allocator.Free(*extent), "freed once");
}

}  // namespace
}  // namespace hoplite::store
