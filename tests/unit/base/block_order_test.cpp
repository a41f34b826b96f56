// Which block goes next (R19).
#include "base/block_order.h"

#include <string>

#include <gtest/gtest.h>

namespace hoplite {
namespace {

// Ten blocks in runs of two: stripe 0 has the blocks 0 1 4 5 8 9, stripe 1 has 2 3 6 7.
constexpr Layout kLayout{
    .size_bytes = 10 * 4096, .block_bytes = 4096, .run_bytes = 8192, .stripe_count = 2};

// The order in which a source with these marks sends all that it can: "0 1 2".
std::string Order(StripeMarks next, const StripeMarks& marks, bool ordered,
                  StripeMask asked = 0b11) {
  std::string order;
  while (const auto stripe = NextStripe(kLayout, asked, next, marks, ordered)) {
    order += (order.empty() ? "" : " ") + std::to_string(kLayout.block_at(*stripe, next[*stripe]));
    ++next[*stripe];
  }
  return order;
}

TEST(BlockOrder, IsTheObjectsWhereAllIsThere) {
  for (const bool ordered : {false, true}) {
    EXPECT_EQ(Order({0, 0}, {6, 4}, ordered), "0 1 2 3 4 5 6 7 8 9");
    EXPECT_EQ(Order({5, 1}, {6, 4}, ordered), "3 6 7 9") << "on from where the receiver is";
    EXPECT_EQ(Order({0, 0}, {6, 4}, ordered, 0b10), "2 3 6 7");
    EXPECT_EQ(Order({6, 4}, {6, 4}, ordered), "");
  }
}

TEST(BlockOrder, WhatIsHereDoesNotWaitForWhatIsNot) {
  EXPECT_EQ(Order({0, 0}, {0, 4}, false), "2 3 6 7");
  EXPECT_EQ(Order({0, 0}, {2, 3}, false), "0 1 2 3 6") << "4 and 5 are a hole in the middle";
  EXPECT_EQ(Order({0, 0}, {6, 1}, false), "0 1 2 4 5 8 9");
}

TEST(BlockOrder, InOrderNothingPassesAHole) {
  EXPECT_EQ(Order({0, 0}, {0, 4}, true), "");
  EXPECT_EQ(Order({0, 0}, {2, 3}, true), "0 1 2 3");
  EXPECT_EQ(Order({0, 0}, {6, 1}, true), "0 1 2");
}

}  // namespace
}  // namespace hoplite
