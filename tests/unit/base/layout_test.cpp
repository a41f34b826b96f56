#include "base/layout.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite {
namespace {

TEST(Layout, SmallObjectsUseSmallBlocks) {
  const Layout layout = Layout::For(1_MiB);
  EXPECT_EQ(layout.block_bytes, 16_KiB);
  EXPECT_EQ(layout.block_count(), 64u);
}

TEST(Layout, LargerObjectsHaveMoreStripes) {
  EXPECT_EQ(Layout::For(256_KiB - 1).stripe_count, 1u);
  EXPECT_EQ(Layout::For(256_KiB).stripe_count, 16u);
  EXPECT_EQ(Layout::For(4_MiB - 1).stripe_count, 16u);
  EXPECT_EQ(Layout::For(4_MiB).stripe_count, 64u);
  EXPECT_EQ(Layout::For(1_GiB).stripe_count, 64u);
  EXPECT_EQ(Layout::For(1_GiB, 3).stripe_count, 3u);
}

TEST(Layout, EachStripeHasARunAtLeast) {
  for (const std::uint64_t size : {256_KiB, 4_MiB - 1, 4_MiB, 64_MiB - 1, 64_MiB, 1_GiB}) {
    const Layout layout = Layout::For(size);
    const std::uint32_t last = layout.stripe_count - 1;
    EXPECT_GE(layout.stripe_block_count(last), layout.blocks_per_run()) << size;
  }
}

TEST(Layout, TheSmallestUseSmallerBlocksInPiecesOfTheSameSize) {
  const Layout layout = Layout::For(1_MiB - 16_KiB);
  EXPECT_EQ(layout.block_bytes, 4_KiB);
  EXPECT_EQ(layout.run_bytes, Layout::For(1_MiB + 16_KiB).run_bytes);
  EXPECT_TRUE(layout.Validate());
}

TEST(Layout, RunsAreLongWhereStripesStayEquallyLong) {
  for (const std::uint64_t size : {64_KiB, 1_MiB, 3_MiB, 16_MiB, 60_MiB}) {
    const Layout layout = Layout::For(size);
    EXPECT_EQ(layout.run_bytes, 64_KiB) << size;
    EXPECT_EQ(layout.stripe_block_count(0), layout.stripe_block_count(layout.stripe_count - 1));
    EXPECT_TRUE(layout.Validate()) << size;
  }
  EXPECT_EQ(Layout::For(512_KiB).run_bytes, 32_KiB);
  EXPECT_EQ(Layout::For(18_MiB).run_bytes, 32_KiB);
}

TEST(Layout, EachOfManyStripesHasSomeRuns) {
  EXPECT_EQ(Layout::For(4_MiB).run_bytes, 16_KiB);
  EXPECT_EQ(Layout::For(8_MiB).run_bytes, 32_KiB);
}

TEST(Layout, RunsAreNotLongerThanEqualShares) {
  const Layout layout = Layout::For(9_MiB);
  EXPECT_EQ(layout.run_bytes, 16_KiB);
  EXPECT_EQ(layout.stripe_block_count(0), layout.stripe_block_count(63));
}

TEST(Layout, LargeObjectsUseLargeBlocks) {
  const Layout layout = Layout::For(1_GiB);
  EXPECT_EQ(layout.block_bytes, 64_KiB);
  EXPECT_EQ(layout.run_bytes, 1_MiB);
}

TEST(Layout, EmptyObjectHasNoBlocksAndIsComplete) {
  const Layout layout = Layout::For(0);
  EXPECT_EQ(layout.block_count(), 0u);
  EXPECT_TRUE(layout.complete(layout.empty_marks()));
  EXPECT_EQ(layout.contiguous_prefix(layout.empty_marks()), 0u);
}

TEST(Layout, StripesThatMarksDoNotFillAreMissing) {
  const Layout layout = Layout::For(1_MiB, 3);
  StripeMarks marks = layout.full_marks();
  EXPECT_EQ(layout.missing(marks), 0U);
  --marks[1];
  EXPECT_EQ(layout.missing(marks), 0b010U);
  EXPECT_EQ(layout.missing(layout.empty_marks()), 0b111U);
  EXPECT_EQ(layout.missing(StripeMarks(2, 1)), 0b111U) << "marks of another layout";
}

// Every block belongs to exactly one (stripe, index), and the maps are inverse to each other.
TEST(Layout, BlocksAndStripesAreOneToOne) {
  for (const std::uint64_t size :
       {std::uint64_t{1}, 4_KiB, 16_KiB, 16_KiB + 1, 1_MiB - 1, 40_MiB, 40_MiB + 1, 70_MiB - 7}) {
    for (const std::uint32_t stripes : {1u, 2u, 4u, 7u}) {
      const Layout layout = Layout::For(size, stripes);
      std::uint64_t blocks = 0;
      for (std::uint32_t s = 0; s < stripes; ++s) {
        for (std::uint32_t i = 0; i < layout.stripe_block_count(s); ++i) {
          const std::uint64_t block = layout.block_at(s, i);
          ASSERT_LT(block, layout.block_count());
          ASSERT_EQ(layout.stripe_of(block), s);
          ASSERT_EQ(layout.index_in_stripe(block), i);
          ++blocks;
        }
      }
      EXPECT_EQ(blocks, layout.block_count());
      EXPECT_EQ(layout.valid_bytes(layout.full_marks()), size);
      EXPECT_EQ(layout.contiguous_prefix(layout.full_marks()), size);
    }
  }
}

TEST(Layout, PiecesOfAStripeCoverItInOrder) {
  const Layout layout = Layout::For(40_MiB + 5, 4);
  std::uint64_t bytes = 0;
  for (std::uint32_t s = 0; s < 4; ++s) {
    std::uint32_t index = 0;
    while (index < layout.stripe_block_count(s)) {
      const ByteRange range = layout.piece(s, index, 3);
      EXPECT_EQ(range.begin, layout.block_range(layout.block_at(s, index)).begin);
      bytes += range.size();
      index +=
          static_cast<std::uint32_t>((range.size() + layout.block_bytes - 1) / layout.block_bytes);
    }
  }
  EXPECT_EQ(bytes, layout.size_bytes);
}

TEST(Layout, MarksOfAPrefixGiveThatPrefixBack) {
  const Layout layout = Layout::For(40_MiB + 5, 2);
  for (std::uint64_t block = 0; block <= layout.block_count(); ++block) {
    const std::uint64_t prefix = std::min(block * layout.block_bytes, layout.size_bytes);
    EXPECT_EQ(layout.contiguous_prefix(layout.marks_of_prefix(prefix)), prefix);
  }
}

TEST(Layout, RefusesNumbersFromTheWireThatCannotBe) {
  const Layout good = Layout::For(1_MiB);
  EXPECT_TRUE(good.Validate());
  Layout bad = good;
  bad.size_bytes = std::uint64_t{1} << 63;
  EXPECT_FALSE(bad.Validate());
  bad = good;
  bad.block_bytes = 0;
  EXPECT_FALSE(bad.Validate());
  bad = good;
  bad.stripe_count = 65;
  EXPECT_FALSE(bad.Validate());
  bad = good;
  bad.run_bytes = bad.block_bytes / 2;
  EXPECT_FALSE(bad.Validate());
}

}  // namespace
}  // namespace hoplite
