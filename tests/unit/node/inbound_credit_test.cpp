#include "node/streams/inbound_credit.h"

#include <optional>

#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

constexpr std::uint64_t kRate = 20'000'000;
constexpr std::uint64_t kLeast = 32 * 1024;
constexpr std::uint64_t kBound = kRate / 10;  // 100 ms

TEST(InboundCredit, OneStreamHasAllOfIt) {
  InboundCredit credit;
  InboundCredit::Share share(credit);
  share.SetRate(kRate);
  EXPECT_EQ(share.Window(kRate, kLeast), kBound);
  EXPECT_EQ(credit.bytes_per_second(), kRate);
}

TEST(InboundCredit, EachHasWhatItsRateAsksForAndAtLeastTheMean) {
  InboundCredit credit;
  InboundCredit::Share fast(credit);
  InboundCredit::Share slow(credit);
  fast.SetRate(kRate / 4 * 3);
  slow.SetRate(kRate / 4);
  EXPECT_EQ(fast.Window(kRate / 4 * 3, kLeast), kBound / 4 * 3);
  EXPECT_EQ(slow.Window(kRate / 4, kLeast), kBound / 2);
}

// Else what is left, once the others end, is as slow as it was beside them.
TEST(InboundCredit, ASlowStreamHasRoomToGrow) {
  InboundCredit credit;
  InboundCredit::Share stays(credit);
  std::optional<InboundCredit::Share> ends(std::in_place, credit);
  stays.SetRate(kRate / 10);
  ends->SetRate(kRate / 10 * 9);
  const std::uint64_t before = stays.Window(kRate / 10, kLeast);
  EXPECT_EQ(before, kBound / 2);
  ends->SetRate(0);          // its source has nothing
  stays.SetRate(kRate / 2);  // what that brings
  EXPECT_EQ(stays.Window(kRate / 2, kLeast), kBound / 2);
}

TEST(InboundCredit, TheRestOfAnObjectDoesNotMakeTheLinkSlower) {
  InboundCredit credit;
  std::optional<InboundCredit::Share> ends(std::in_place, credit);
  InboundCredit::Share stays(credit);
  ends->SetRate(kRate / 2);
  stays.SetRate(kRate / 2);
  ends.reset();
  EXPECT_EQ(credit.bytes_per_second(), kRate);
  stays.SetRate(kRate / 20 * 13);  // a sample of the whole link counts 0.3
  EXPECT_EQ(credit.bytes_per_second(), kRate);
  stays.SetRate(0);
  EXPECT_EQ(credit.bytes_per_second(), kRate);
}

TEST(InboundCredit, WhatNobodyTakesUpIsForgotten) {
  InboundCredit credit;
  std::optional<InboundCredit::Share> ends(std::in_place, credit);
  InboundCredit::Share stays(credit);
  ends->SetRate(kRate / 2);
  stays.SetRate(kRate / 2);
  ends.reset();
  for (int i = 0; i < 20; ++i) stays.SetRate(kRate / 2);
  EXPECT_NEAR(static_cast<double>(credit.bytes_per_second()), kRate / 2., kRate / 100.);
}

TEST(InboundCredit, WhoComesTakesThePlaceOfWhoEnded) {
  InboundCredit credit;
  std::optional<InboundCredit::Share> ends(std::in_place, credit);
  InboundCredit::Share stays(credit);
  ends->SetRate(kRate / 2);
  stays.SetRate(kRate / 2);
  ends.reset();
  InboundCredit::Share comes(credit);
  comes.SetRate(kRate / 2);
  EXPECT_EQ(credit.bytes_per_second(), kRate);
}

TEST(InboundCredit, WhoHasNoSampleYetGetsTheMean) {
  InboundCredit credit;
  InboundCredit::Share known(credit);
  InboundCredit::Share fresh(credit);
  known.SetRate(kRate);
  EXPECT_EQ(fresh.Window(0, kLeast), kBound / 2);
  EXPECT_EQ(InboundCredit::Share(credit).Window(0, kBound), kBound) << "the least that moves it";
}

}  // namespace
}  // namespace hoplite::node
