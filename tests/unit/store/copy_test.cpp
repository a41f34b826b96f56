#include "store/copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::store {
namespace {

struct CountingListener final : CopyListener {
  void OnCopyChanged() noexcept override { ++calls; }
  std::atomic<int> calls{0};
};

// A copy over plain memory that counts how often it was given back.
struct Fixture {
  explicit Fixture(std::uint64_t size, std::uint32_t stripes = 1)
      : layout(Layout::For(size, stripes)),
        memory(size),
        copy(std::make_unique<Copy>(ObjectId::FromName("x"), layout, "meta", memory, 0,
                                    [this] { ++released; })) {}
  void Complete() {
    for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
      copy->Advance(s, layout.stripe_block_count(s));
    }
  }

  Layout layout;
  std::vector<std::byte> memory;
  int released = 0;
  std::unique_ptr<Copy> copy;
};

TEST(Copy, StartsOpenAndEmpty) {
  Fixture f(100_KiB, 2);
  EXPECT_EQ(f.copy->state(), CopyState::kOpen);
  EXPECT_EQ(f.copy->void_reason(), VoidReason::kNone);
  EXPECT_EQ(f.copy->marks(), f.layout.empty_marks());
  EXPECT_EQ(f.copy->metadata(), "meta");
  EXPECT_FALSE(f.copy->version());
}

TEST(Copy, AdvanceGrowsOneStripeAndNeverShrinks) {
  Fixture f(100_KiB, 2);
  f.copy->SetChecksum(f.layout.block_at(1, 0), 42);
  f.copy->Advance(1, 2);
  f.copy->Advance(1, 1);
  EXPECT_EQ(f.copy->mark(0), 0u);
  EXPECT_EQ(f.copy->mark(1), 2u);
  EXPECT_EQ(f.copy->checksum(f.layout.block_at(1, 0)), 42u);
}

TEST(Copy, SealNeedsEveryBlockAndHappensOnce) {
  Fixture f(100_KiB, 2);
  f.copy->Advance(0, f.layout.stripe_block_count(0));
  EXPECT_FALSE(f.copy->Seal());
  EXPECT_EQ(f.copy->state(), CopyState::kOpen);
  f.Complete();
  EXPECT_TRUE(f.copy->Seal());
  EXPECT_EQ(f.copy->state(), CopyState::kFinal);
  EXPECT_FALSE(f.copy->Seal());
}

TEST(Copy, StripesAreFinalByThemselvesAndWithTheLastTheCopy) {
  Fixture f(100_KiB, 2);
  f.copy->Advance(1, f.layout.stripe_block_count(1));
  EXPECT_FALSE(f.copy->Seal(0b11));
  EXPECT_EQ(f.copy->final_stripes(), 0u);
  EXPECT_TRUE(f.copy->Seal(0b10));
  EXPECT_FALSE(f.copy->Seal(0b10));
  EXPECT_EQ(f.copy->final_stripes(), 0b10u);
  EXPECT_EQ(f.copy->state(), CopyState::kOpen);
  EXPECT_FALSE(f.copy->whole());
  f.Complete();
  EXPECT_TRUE(f.copy->whole());
  EXPECT_TRUE(f.copy->Seal(0b01));
  EXPECT_EQ(f.copy->final_stripes(), 0b11u);
  EXPECT_EQ(f.copy->state(), CopyState::kFinal);
}

TEST(Copy, StripesOfOneThatIsVoidAreNotSealed) {
  Fixture f(100_KiB, 2);
  f.Complete();
  f.copy->Void(VoidReason::kRecalled);
  EXPECT_FALSE(f.copy->Seal(0b01));
}

// Fewer runs than stripes: one has no block.
TEST(Copy, AStripeWithoutBlocksIsWholeFromTheStart) {
  const Layout layout{
      .size_bytes = 40_KiB, .block_bytes = 16_KiB, .run_bytes = 32_KiB, .stripe_count = 4};
  std::vector<std::byte> memory(layout.size_bytes);
  Copy copy(ObjectId::FromName("x"), layout, "", memory, 0, [] {});
  copy.Advance(0, 2);
  EXPECT_FALSE(copy.whole());
  copy.Advance(1, 1);
  EXPECT_TRUE(copy.whole());
  EXPECT_TRUE(copy.Seal());
}

TEST(Copy, AZeroByteCopyIsCompleteAtOnce) {
  Fixture f(0);
  EXPECT_TRUE(f.copy->bytes().empty());
  EXPECT_TRUE(f.copy->Seal());
}

TEST(Copy, VoidKeepsItsFirstReasonAndRefusesSeal) {
  Fixture f(64_KiB);
  f.Complete();
  EXPECT_TRUE(f.copy->Void(VoidReason::kRecalled));
  EXPECT_FALSE(f.copy->Void(VoidReason::kDeleted));
  EXPECT_FALSE(f.copy->Seal());
  EXPECT_EQ(f.copy->state(), CopyState::kVoid);
  EXPECT_EQ(f.copy->void_reason(), VoidReason::kRecalled);
}

TEST(Copy, AFinalCopyCanBecomeVoid) {
  Fixture f(64_KiB);
  f.Complete();
  ASSERT_TRUE(f.copy->Seal());
  EXPECT_TRUE(f.copy->Void(VoidReason::kDeleted));
  EXPECT_EQ(f.copy->state(), CopyState::kVoid);
}

TEST(Copy, ListenersHearEachChangeUntilRemoved) {
  Fixture f(64_KiB);
  CountingListener stays;
  CountingListener leaves;
  f.copy->AddListener(&stays);
  f.copy->AddListener(&leaves);
  f.copy->Advance(0, 1);
  f.copy->Advance(0, 1);  // no change
  f.copy->RemoveListener(&leaves);
  f.Complete();
  f.copy->Seal();
  f.copy->Seal();  // no change
  f.copy->Void(VoidReason::kDeleted);
  EXPECT_EQ(leaves.calls, 1);
  EXPECT_EQ(stays.calls, 4);
}

TEST(Copy, GivesItsMemoryBackOnce) {
  Fixture f(64_KiB);
  f.copy.reset();
  EXPECT_EQ(f.released, 1);
}

// Two lanes fill a stripe each while a reader follows: below a mark it must find the bytes and the
// checksum that belong there. TSan sees a mark that is not released after them.
TEST(Copy, ReadersBelowTheMarkSeeBytesAndChecksums) {
  Fixture f(2_MiB, 2);
  const auto fill = [&](std::uint32_t stripe) {
    for (std::uint32_t i = 0; i < f.layout.stripe_block_count(stripe); ++i) {
      const std::uint64_t block = f.layout.block_at(stripe, i);
      const ByteRange range = f.layout.block_range(block);
      std::memset(f.memory.data() + range.begin, static_cast<int>(block), range.size());
      f.copy->SetChecksum(block, block * 3);
      f.copy->Advance(stripe, i + 1);
    }
  };
  CountingListener listener;
  f.copy->AddListener(&listener);
  std::jthread lane0(fill, 0);
  std::jthread lane1(fill, 1);

  StripeMarks seen = f.layout.empty_marks();
  while (!f.layout.complete(seen)) {
    for (std::uint32_t s = 0; s < f.layout.stripe_count; ++s) {
      const std::uint32_t mark = f.copy->mark(s);
      ASSERT_GE(mark, seen[s]);
      for (; seen[s] < mark; ++seen[s]) {
        const std::uint64_t block = f.layout.block_at(s, seen[s]);
        ASSERT_EQ(f.copy->checksum(block), block * 3);
        const ByteRange range = f.layout.block_range(block);
        const auto expected = static_cast<std::byte>(block);
        ASSERT_EQ(f.memory[range.begin], expected);
        ASSERT_EQ(f.memory[range.end - 1], expected);
      }
    }
    std::this_thread::yield();
  }
  EXPECT_TRUE(f.copy->Seal());
  f.copy->RemoveListener(&listener);
  EXPECT_EQ(listener.calls, static_cast<int>(f.layout.block_count()) + 1);
}

TEST(Copy, OfRacingVoidsOneWinsAndItsReasonIsSeen) {
  Fixture f(64_KiB);
  f.Complete();
  std::atomic<int> winners{0};
  {
    std::jthread a([&] { winners += f.copy->Void(VoidReason::kDeleted); });
    std::jthread b([&] { winners += f.copy->Void(VoidReason::kRecalled); });
    std::jthread c([&] { f.copy->Seal(); });
    while (f.copy->state() != CopyState::kVoid) std::this_thread::yield();
    EXPECT_NE(f.copy->void_reason(), VoidReason::kNone);
  }
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(f.copy->state(), CopyState::kVoid);
}

}  // namespace
}  // namespace hoplite::store
