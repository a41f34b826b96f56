#include "node/reduce/small_fold.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "planner/reduce/reduce_planner.h"

namespace hoplite::node {
namespace {

using std::chrono::milliseconds;

ObjectId IdOf(std::size_t i) { return ObjectId::FromName(std::to_string(i)); }

ReduceOptions Options(std::size_t sources, bool fixed_order) {
  ReduceOptions options;
  for (std::size_t i = 0; i < sources; ++i) options.sources.push_back(IdOf(i));
  options.dtype = DType::kInt64;
  options.fixed_order = fixed_order;
  return options;
}

bool Brought(SmallFold& fold, const ReduceOptions& options, std::size_t i,
             std::span<const std::byte> bytes) {
  return fold.OnBytes(IdOf(i), bytes, planner::FoldOf(options, options.dtype));
}

void Bring(SmallFold& fold, std::size_t i, std::int64_t value) {
  Brought(fold, Options(1, false), i, std::as_bytes(std::span(&value, 1)));
}

std::int64_t SumOf(const SmallFold& fold) {
  std::int64_t sum = 0;
  std::memcpy(&sum, fold.sum().data(), sizeof(sum));
  return sum;
}

TEST(SmallFold, FoldsTheFirstThatCome) {
  ReduceOptions options = Options(5, false);
  options.num_objects = 2;
  SmallFold fold(options);
  EXPECT_EQ(fold.Due(options.sources, Time{}), options.sources);
  EXPECT_TRUE(fold.Due(options.sources, Time{}).empty());
  Bring(fold, 3, 10);
  EXPECT_FALSE(fold.whole());
  Bring(fold, 1, 5);
  Bring(fold, 0, 100);
  EXPECT_TRUE(fold.whole());
  EXPECT_EQ(SumOf(fold), 15);
  EXPECT_EQ(fold.folded(), (std::vector{IdOf(3), IdOf(1)}));
}

TEST(SmallFold, AMeanIsDividedOnceByHowManyAreInIt) {
  for (const bool fixed_order : {false, true}) {
    ReduceOptions options = Options(4, fixed_order);
    options.op = Op::kMean;
    options.dtype = DType::kFloat64;
    if (!fixed_order) options.num_objects = 3;
    SmallFold fold(options);
    double total = 0;
    for (const std::size_t i : {3, 0, 2, 1}) {
      const double value = 1.0 + static_cast<double>(i);
      if (!fold.whole()) total += value;
      EXPECT_TRUE(Brought(fold, options, i, std::as_bytes(std::span(&value, 1))));
    }
    ASSERT_TRUE(fold.whole());
    double mean = 0;
    std::memcpy(&mean, fold.sum().data(), sizeof(mean));
    EXPECT_EQ(mean, total / (fixed_order ? 4 : 3));
  }
}

TEST(SmallFold, WhatLiesBehindTheElementsIsThatOfTheSources) {
  ReduceOptions options = Options(3, false);
  options.dtype = DType::kUint16;
  options.folded_bytes = 4;
  SmallFold fold(options);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::array<std::uint8_t, 7> bytes{
        static_cast<std::uint8_t>(i + 1), 0, 9, 1, 'e', 'n', 'd'};
    EXPECT_TRUE(Brought(fold, options, i, std::as_bytes(std::span(bytes))));
  }
  const std::array<std::uint8_t, 7> expected{6, 0, 27, 3, 'e', 'n', 'd'};
  EXPECT_TRUE(std::ranges::equal(fold.sum(), std::as_bytes(std::span(expected))));
}

// The objects that wait for their turn are bounded, however many there are and whichever comes
// last.
TEST(SmallFold, AFixedOrderFetchesAWindowAndFoldsInOrder) {
  constexpr std::size_t kSources = 100;
  const ReduceOptions options = Options(kSources, true);
  SmallFold fold(options);
  const std::vector<ObjectId> late(options.sources.begin() + 1, options.sources.end());
  const auto due = fold.Due(late, Time{});
  EXPECT_EQ(due, std::vector<ObjectId>(late.begin(), late.begin() + SmallFold::kWindow - 1));
  for (std::size_t i = SmallFold::kWindow; --i > 0;) Bring(fold, i, 1);
  EXPECT_TRUE(fold.folded().empty());
  EXPECT_TRUE(fold.Due(late, Time{}).empty());
  EXPECT_EQ(fold.Due(options.sources, Time{}), std::vector{IdOf(0)});
  Bring(fold, 0, 1);
  EXPECT_EQ(fold.folded().size(), SmallFold::kWindow);
  EXPECT_EQ(fold.Due(options.sources, Time{}).size(), SmallFold::kWindow);
  for (std::size_t i = SmallFold::kWindow; i < kSources; ++i) Bring(fold, i, 1);
  EXPECT_TRUE(fold.whole());
  EXPECT_EQ(fold.folded(), options.sources);
  EXPECT_EQ(SumOf(fold), 100);
}

// A source whose holder was lost may be put anew with another size before anybody hears of that.
TEST(SmallFold, BytesOfAnotherSizeAreNotFolded) {
  for (const bool fixed_order : {false, true}) {
    const ReduceOptions options = Options(3, fixed_order);
    SmallFold fold(options);
    Bring(fold, 1, 10);
    const std::vector<std::byte> longer(24);
    EXPECT_FALSE(Brought(fold, options, 0, longer));
    EXPECT_FALSE(Brought(fold, options, 2, longer));
    EXPECT_LE(fold.folded().size(), 1U);
    Bring(fold, 0, 1);
    Bring(fold, 2, 100);
    ASSERT_TRUE(fold.whole());
    EXPECT_EQ(SumOf(fold), 111);
  }
}

TEST(SmallFold, AFailedSourceIsLeftAloneForAWhile) {
  const ReduceOptions options = Options(2, false);
  SmallFold fold(options);
  const Time now{};
  fold.Due(options.sources, now);
  EXPECT_EQ(fold.next_try(), kNever);
  fold.OnFailed(IdOf(0), now);
  EXPECT_EQ(fold.next_try(), now + SmallFold::kTryAgain);
  EXPECT_TRUE(fold.Due(options.sources, now + milliseconds(1)).empty());
  EXPECT_EQ(fold.Due(options.sources, fold.next_try()), std::vector{IdOf(0)});
  EXPECT_EQ(fold.next_try(), kNever);
}

}  // namespace
}  // namespace hoplite::node
