// The growing output of a slot: each input's blocks are folded once, in their own order (R34).
#include "node/reduce/accumulator.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/units.h"

namespace hoplite::node {
namespace {

constexpr std::uint64_t kFoldedBytes = 100'000;  // six whole blocks and a short one
constexpr protocol::Fold kSum{Op::kSum, DType::kUint8};

store::CopyPtr CopyWith(const Layout& layout, std::uint8_t value) {
  struct Memory {
    std::vector<std::byte> bytes;
  };
  const auto memory = std::make_shared<Memory>();
  memory->bytes.assign(layout.size_bytes, std::byte{value});
  const std::span<std::byte> bytes = memory->bytes;
  return std::make_shared<store::Copy>(ObjectId::FromName("x"), layout, "", bytes, 0,
                                       [memory] { memory->bytes.clear(); });
}

// A slot whose inputs are filled with one number each.
class Folding {
 public:
  Folding(std::size_t own, std::uint32_t children, std::uint32_t stripes = 1,
          const protocol::Fold& fold = kSum, bool root = true)
      : layout_{.size_bytes = kFoldedBytes,
                .block_bytes = 16_KiB,
                .run_bytes = 16_KiB,
                .stripe_count = stripes},
        out_(CopyWith(layout_, 99)) {
    for (std::size_t i = 0; i < own; ++i) own_.push_back(CopyWith(layout_, 1));
    fold_ = std::make_shared<Accumulator>(out_, fold, own_, children, root);
  }

  // Its own source has grown.
  void Grows(std::size_t own, std::uint32_t blocks, std::uint32_t stripe = 0) {
    own_.at(own)->Advance(stripe, blocks);
  }
  // The next blocks of a child come, ten times as large as an own source's.
  void Comes(std::uint32_t child, std::uint32_t blocks, std::uint32_t stripe = 0) {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      const std::uint32_t index = fold_->child_mark(child, stripe);
      const std::uint64_t block = layout_.block_at(stripe, index);
      const std::vector<std::byte> bytes(layout_.block_range(block).size(), std::byte{10});
      fold_->FoldChild(child, stripe, block, bytes);
    }
    fold_->Publish(stripe);
  }
  // How many blocks of the output are complete, each the same sum and with its checksum.
  std::uint32_t Complete(std::uint8_t sum, std::uint32_t stripe = 0) const {
    for (std::uint32_t i = 0; i < out_->mark(stripe); ++i) {
      const std::uint64_t block = layout_.block_at(stripe, i);
      const ByteRange range = layout_.block_range(block);
      const auto bytes = out_->bytes().subspan(range.begin, range.size());
      EXPECT_EQ(bytes.front(), std::byte{sum}) << "block " << block;
      EXPECT_EQ(bytes.back(), std::byte{sum}) << "block " << block;
      EXPECT_EQ(out_->checksum(block), BlockChecksum(bytes)) << "block " << block;
    }
    return out_->mark(stripe);
  }
  std::span<const std::byte> out() const { return out_->bytes(); }
  Accumulator& fold() { return *fold_; }
  const std::shared_ptr<Accumulator>& shared() const { return fold_; }
  const Layout& layout() const { return layout_; }

 private:
  const Layout layout_;
  const store::CopyPtr out_;
  std::vector<store::CopyPtr> own_;
  std::shared_ptr<Accumulator> fold_;
};

TEST(Accumulator, OwnSourcesAloneMakeTheOutputAsFarAsAllOfThemAre) {
  for (const std::uint8_t sources : {1, 2, 3, 5}) {
    Folding slot(sources, 0);
    for (std::size_t i = 0; i < sources; ++i) slot.Grows(i, i == 0 ? 3 : 7);
    EXPECT_FALSE(slot.fold().FoldOwn(0, 100));
    EXPECT_EQ(slot.Complete(sources), 3u);
    slot.Grows(0, 7);
    EXPECT_FALSE(slot.fold().FoldOwn(0, 100));
    EXPECT_EQ(slot.Complete(sources), 7u) << "the short one, too";
  }
}

TEST(Accumulator, NoMoreThanTheLimitIsFoldedAtATime) {
  Folding slot(2, 0);
  slot.Grows(0, 7);
  slot.Grows(1, 7);
  EXPECT_TRUE(slot.fold().FoldOwn(0, 5));
  EXPECT_EQ(slot.Complete(2), 5u);
  EXPECT_FALSE(slot.fold().FoldOwn(0, 5));
  EXPECT_EQ(slot.Complete(2), 7u);
}

TEST(Accumulator, TheOutputIsAsFarAsTheSlowestInput) {
  Folding slot(1, 2);
  slot.Grows(0, 4);
  slot.Comes(0, 6);
  EXPECT_EQ(slot.Complete(21), 0u) << "the other child has given nothing";
  slot.Comes(1, 2);
  EXPECT_EQ(slot.Complete(21), 2u);
  slot.Comes(1, 5);
  EXPECT_EQ(slot.Complete(21), 4u) << "the own source is there";
  slot.Grows(0, 7);
  slot.fold().FoldOwn(0, 100);
  EXPECT_EQ(slot.Complete(21), 6u);
  slot.Comes(0, 1);
  EXPECT_EQ(slot.Complete(21), 7u);
}

// Whichever comes first makes the block; none counts twice.
TEST(Accumulator, TheOrderOfInputsDoesNotMatter) {
  for (const bool own_first : {true, false}) {
    Folding slot(2, 1);
    if (own_first) {
      slot.Grows(0, 7);
      slot.Grows(1, 7);
      slot.fold().FoldOwn(0, 100);
      EXPECT_EQ(slot.Complete(12), 0u) << "they follow the child";
    }
    slot.Comes(0, 7);
    slot.Grows(0, 7);
    slot.Grows(1, 7);
    while (slot.fold().FoldOwn(0, 2)) {
    }
    EXPECT_EQ(slot.Complete(12), 7u);
    slot.fold().FoldOwn(0, 100);
    EXPECT_EQ(slot.Complete(12), 7u);
  }
}

TEST(Accumulator, StripesAreOnTheirOwn) {
  Folding slot(0, 1, 2);
  const std::uint32_t blocks = slot.layout().stripe_block_count(1);
  slot.Comes(0, blocks, 1);
  EXPECT_EQ(slot.Complete(10, 0), 0u);
  EXPECT_EQ(slot.Complete(10, 1), blocks);
}

// A slot of a ring: in one stripe its own source is all there is, in the others a child comes first.
TEST(Accumulator, AStripeThatNoChildFeedsIsMadeOfOwnSourcesAlone) {
  Folding slot(1, 1, 3);  // stripes of three, two and two blocks, the last one short
  for (const std::uint32_t s : {0u, 1u, 2u}) {
    slot.Grows(0, slot.layout().stripe_block_count(s), s);
    slot.fold().FoldOwn(s, 100);
    EXPECT_EQ(slot.Complete(1, s), 0u) << "the child is not known yet";
  }
  slot.fold().Feeds(0, 0b110);
  for (const std::uint32_t s : {0u, 1u, 2u}) slot.fold().FoldOwn(s, 100);
  EXPECT_EQ(slot.Complete(1, 0), 3u) << "the short one, too";
  EXPECT_EQ(slot.Complete(11, 1), 0u);
  slot.Comes(0, 2, 1);
  slot.Comes(0, 1, 2);
  EXPECT_EQ(slot.Complete(1, 0), 3u);
  EXPECT_EQ(slot.Complete(11, 1), 2u);
  EXPECT_EQ(slot.Complete(11, 2), 1u);
}

TEST(Accumulator, AStripeWaitsForThoseChildrenThatFeedIt) {
  Folding slot(1, 2, 2);
  for (const std::uint32_t s : {0u, 1u}) slot.Grows(0, slot.layout().stripe_block_count(s), s);
  slot.fold().Feeds(0, 0b11);
  slot.Comes(0, 3, 1);
  EXPECT_EQ(slot.Complete(11, 1), 0u) << "the other may feed both";
  slot.fold().Feeds(1, 0b01);
  slot.fold().FoldOwn(1, 100);
  EXPECT_EQ(slot.Complete(11, 1), 3u);
  slot.Comes(0, 4, 0);
  EXPECT_EQ(slot.Complete(21, 0), 0u);
  slot.Comes(1, 4, 0);
  EXPECT_EQ(slot.Complete(21, 0), 4u);
}

// Of bytes that are all the same, float64 numbers: the target is divided, what is folded on is not.
TEST(Accumulator, ARootDividesAMeanOnceWhenAllOfABlockIsFolded) {
  for (const bool root : {true, false}) {
    Folding slot(1, 1, 1, {Op::kMean, DType::kFloat64, 5}, root);
    const auto number = [](std::uint8_t byte) {
      return std::bit_cast<double>(0x0101010101010101u * byte);
    };
    const double sum = number(1) + number(10);
    const double expected = root ? sum / 5 : sum;
    slot.Grows(0, 3);
    slot.Comes(0, 6);
    slot.Grows(0, 7);
    while (slot.fold().FoldOwn(0, 2)) {
    }
    slot.Comes(0, 1);
    slot.fold().Publish(0);
    for (std::size_t at = 0; at < slot.out().size(); at += sizeof(double)) {
      double got = 0;
      std::memcpy(&got, slot.out().data() + at, sizeof(got));
      ASSERT_EQ(got, expected) << at;
    }
  }
}

// They end within a block, and at the end of one: in either order of inputs, of one's own alone, or of
// one alone.
TEST(Accumulator, WhatLiesBehindTheElementsIsTakenFromOneInput) {
  struct Inputs {
    std::size_t own;
    std::uint32_t children;
  };
  for (const std::uint64_t folded : {40'002u, 2 * 16'384u}) {
    for (const Inputs& inputs :
         {Inputs{1, 0}, Inputs{2, 0}, Inputs{3, 0}, Inputs{0, 1}, Inputs{1, 1}, Inputs{2, 2}}) {
      Folding slot(inputs.own, inputs.children, 1, {Op::kSum, DType::kUint16, 1, folded});
      for (std::size_t i = 0; i < inputs.own; i += 2) slot.Grows(i, 7);
      for (std::uint32_t i = 0; i < inputs.children; ++i) slot.Comes(i, 7);
      for (std::size_t i = 1; i < inputs.own; i += 2) slot.Grows(i, 7);
      slot.fold().FoldOwn(0, 100);
      const auto sum = static_cast<std::byte>(inputs.own + inputs.children * 10);
      const auto end = std::ranges::find_if(slot.out(), [&](std::byte b) { return b != sum; });
      const bool one = inputs.own + inputs.children == 1;
      if (!one) EXPECT_EQ(static_cast<std::uint64_t>(end - slot.out().begin()), folded);
      for (const std::byte b : slot.out().subspan(folded)) {
        ASSERT_TRUE((inputs.own > 0 && b == std::byte{1}) ||
                    (inputs.children > 0 && b == std::byte{10}));
      }
    }
  }
}

TEST(Accumulator, AStripeWithoutInputsIsNotMade) {
  Folding slot(0, 1, 2);
  slot.fold().Feeds(0, 0b01);
  EXPECT_FALSE(slot.fold().FoldOwn(1, 100));
  EXPECT_EQ(slot.Complete(0, 1), 0u);
}

// --- a stream of a child

TEST(FoldSink, FoldsWhatCameInPiecesAndGoesOnAtItsOwnMark) {
  Folding slot(1, 1);
  slot.Grows(0, 7);
  FoldSink sink(slot.shared(), 0, {0});
  // Four blocks as one piece, in receives that end in the middle of a block.
  const std::uint64_t end = 4ull * slot.layout().block_bytes;
  std::uint64_t filled = 0;
  std::uint32_t taken = 0;
  while (filled < end) {
    const std::span<std::byte> room = sink.Room(filled, end);
    ASSERT_FALSE(room.empty());
    const std::size_t some = std::min<std::size_t>(room.size(), 10'000);
    std::memset(room.data(), 10, some);
    filled += some;
    for (; slot.layout().block_range(taken).end <= filled; ++taken) sink.Take(0, taken, 0);
  }
  sink.Flush(0);
  EXPECT_EQ(sink.mark(0), 4u);
  EXPECT_EQ(slot.Complete(11), 4u);

  // The connection broke; the next one begins where this child's blocks end.
  FoldSink next(slot.shared(), 0, {slot.fold().child_mark(0, 0)});
  EXPECT_EQ(next.mark(0), 4u);
  for (std::uint32_t block = 4; block < 7; ++block) {
    const ByteRange range = slot.layout().block_range(block);
    const std::span<std::byte> room = next.Room(range.begin, range.end);
    ASSERT_EQ(room.size(), range.size());
    std::memset(room.data(), 10, room.size());
    next.Take(0, block, 0);
  }
  next.Flush(0);
  EXPECT_EQ(slot.Complete(11), 7u);
}

// A source that lacks a lower block sends a later one of another stripe first (R19).
TEST(FoldSink, FoldsEachStripeAsItComes) {
  Folding slot(1, 1, 2);
  for (const std::uint32_t s : {0u, 1u}) slot.Grows(0, slot.layout().stripe_block_count(s), s);
  FoldSink sink(slot.shared(), 0, slot.layout().empty_marks());
  for (const std::uint64_t block : {1u, 3u, 0u, 5u, 2u}) {
    const ByteRange range = slot.layout().block_range(block);
    const std::span<std::byte> room = sink.Room(range.begin, range.end);
    ASSERT_EQ(room.size(), range.size());
    std::memset(room.data(), 10, room.size());
    sink.Take(slot.layout().stripe_of(block), block, 0);
    sink.Flush(slot.layout().stripe_of(block));
  }
  EXPECT_EQ(slot.Complete(11, 0), 2u);
  EXPECT_EQ(slot.Complete(11, 1), 3u);
}

TEST(FoldSink, ItsRoomIsBoundedHoweverLargeThePiece) {
  const Layout layout = Layout::For(4_MiB);
  const auto fold = std::make_shared<Accumulator>(CopyWith(layout, 0), kSum,
                                                  std::vector<store::CopyPtr>(), 1, true);
  FoldSink sink(fold, 0, {0});
  EXPECT_LE(sink.Room(0, layout.size_bytes).size(), 256_KiB);
}

}  // namespace
}  // namespace hoplite::node
