#include "node/streams/inbound_credit.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::node {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kRate = 20'000'000;
constexpr std::uint64_t kLeast = 32 * 1024;

// The geometric mean of 100 ms of the rate and of its part of 256 KiB.
std::uint64_t QueueAt(std::uint64_t rate, double streams) {
  return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(rate) * InboundCredit::kSeconds *
                                              static_cast<double>(InboundCredit::kBeforeSample) /
                                              streams));
}

TEST(InboundCredit, OneStreamHasAllOfIt) {
  InboundCredit credit;
  InboundCredit::Share share(credit);
  share.SetRate(kRate);
  EXPECT_EQ(share.Queue(kRate, kLeast), QueueAt(kRate, 1));
  EXPECT_EQ(credit.bytes_per_second(), kRate);
}

TEST(InboundCredit, KnowsWhenTheLinkWasMeasured) {
  InboundCredit credit;
  EXPECT_EQ(credit.measured(), kNever);
  const Time begun = hoplite::Now();
  {
    InboundCredit::Share share(credit);
    share.SetRate(kRate);
    EXPECT_EQ(credit.flowing(), 1);
    EXPECT_GE(credit.measured(), begun);
  }
  EXPECT_EQ(credit.flowing(), 0);
  EXPECT_EQ(credit.bytes_per_second(), kRate);
  EXPECT_LE(credit.measured(), hoplite::Now()) << "not now: then";
  EXPECT_GE(credit.measured(), begun);
}

TEST(InboundCredit, EachHasWhatItsRateAsksForAndAtLeastTheMean) {
  InboundCredit credit;
  InboundCredit::Share fast(credit);
  InboundCredit::Share slow(credit);
  fast.SetRate(kRate / 4 * 3);
  slow.SetRate(kRate / 4);
  EXPECT_EQ(fast.Queue(kRate / 4 * 3, kLeast), QueueAt(kRate / 4 * 3, 2));
  EXPECT_EQ(slow.Queue(kRate / 4, kLeast), QueueAt(kRate / 2, 2));
}

// Else what is left, once the others end, is as slow as it was beside them.
TEST(InboundCredit, ASlowStreamHasRoomToGrow) {
  InboundCredit credit;
  InboundCredit::Share stays(credit);
  std::optional<InboundCredit::Share> ends(std::in_place, credit);
  stays.SetRate(kRate / 10);
  ends->SetRate(kRate / 10 * 9);
  EXPECT_EQ(stays.Queue(kRate / 10, kLeast), QueueAt(kRate / 2, 2));
  ends->SetRate(0);          // its source has nothing
  stays.SetRate(kRate / 2);  // what that brings
  EXPECT_EQ(stays.Queue(kRate / 2, kLeast), QueueAt(kRate / 2, 2));
}

// The queue stays below 100 ms of any link from 21 Mbit/s on, whose 100 ms are 256 KiB.
TEST(InboundCredit, TheQueueIsShort) {
  for (std::uint64_t rate = 2'700'000; rate < 20'000'000'000; rate *= 2) {
    InboundCredit credit;
    InboundCredit::Share share(credit);
    share.SetRate(rate);
    EXPECT_LT(share.Queue(static_cast<double>(rate), kLeast), rate / 10) << rate;
  }
}

// What a round trip brings is measured and becomes the next window.
TEST(InboundCredit, AWayFillsHoweverLongItIs) {
  InboundCredit credit;
  InboundCredit::Share share(credit);
  for (const auto way :
       {milliseconds(1), milliseconds(100), milliseconds(150), milliseconds(300)}) {
    LongWay far;
    far.SetWay(way, false);
    double rate = 0;
    for (int round = 0; round < 30; ++round) {
      const auto window = static_cast<double>(share.CreditFor(rate, far, kLeast).bytes);
      rate = std::min<double>(window / ToSeconds(way), kRate);
    }
    EXPECT_EQ(rate, kRate) << way.count() << " ms";
  }
}

// The credit of each direction waits behind the other's bytes. All that is under way circulates in
// the time that the larger window takes over its link.
TEST(InboundCredit, WhoComesWhileTheOtherDirectionIsFullGetsItsLink) {
  InboundCredit here;
  InboundCredit there;
  InboundCredit::Share first(here);
  InboundCredit::Share second(there);
  double first_rate = kRate;
  double second_rate = 0;
  for (int round = 0; round < 30; ++round) {
    const auto first_window =
        static_cast<double>(first.CreditFor(first_rate, LongWay(), kLeast).bytes);
    const auto second_window =
        static_cast<double>(second.CreditFor(second_rate, LongWay(), kLeast).bytes);
    const double loop = std::max(first_window, second_window) / kRate;
    first_rate = first_window / loop;
    second_rate = second_window / loop;
  }
  EXPECT_NEAR(first_rate, kRate, kRate / 100.);
  EXPECT_NEAR(second_rate, kRate, kRate / 100.);
}

// A burst is faster than the link to whoever watches for a moment.
TEST(InboundCredit, ASampleCountsByItsTime) {
  double rate = 0;
  for (int i = 0; i < 20; ++i) {  // all bytes of 100 ms come within 10
    rate += InboundCredit::Weight(milliseconds(10), milliseconds(100)) * (10. * kRate - rate);
    rate += InboundCredit::Weight(milliseconds(90), milliseconds(100)) * (0 - rate);
  }
  EXPECT_LT(rate, kRate);
  EXPECT_NEAR(InboundCredit::Weight(milliseconds(100), Duration{0}), 0.63, 0.01);
}

TEST(InboundCredit, TheRestOfAnObjectDoesNotMakeTheLinkSlower) {
  InboundCredit credit;
  std::optional<InboundCredit::Share> ends(std::in_place, credit);
  InboundCredit::Share stays(credit);
  ends->SetRate(kRate / 2);
  stays.SetRate(kRate / 2);
  ends.reset();
  EXPECT_EQ(credit.bytes_per_second(), kRate);
  stays.SetRate(kRate / 20 * 13, 0.3);  // a sample of the whole link
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
  for (int i = 0; i < 20; ++i) stays.SetRate(kRate / 2, 0.3);
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
  EXPECT_EQ(fresh.Queue(0, kLeast), QueueAt(kRate / 2, 2));
  EXPECT_EQ(InboundCredit::Share(credit).Queue(0, kRate), kRate) << "the least that moves it";
}

// In 5 ms a link of 400 Mbit/s carries 256 KiB, one of 1.7 Gbit/s 1 MiB.
TEST(InboundCredit, TheFirstQueueIsWhatTheLinkCarriesInFiveMilliseconds) {
  struct Row {
    std::uint64_t told;      // bytes a second
    std::uint64_t measured;  // likewise
    std::uint64_t streams;
    std::uint64_t queue;  // of each
  };
  for (const Row& row : {Row{0, 0, 1, 256_KiB}, Row{12'500'000, 0, 1, 256_KiB},
                         Row{100'000'000, 0, 1, 500'000}, Row{100'000'000, 12'500'000, 1, 500'000},
                         Row{0, 100'000'000, 1, 500'000}, Row{0, 100'000'000, 4, 125'000},
                         Row{1'250'000'000, 0, 1, 1_MiB}, Row{1'250'000'000, 0, 8, 128_KiB}}) {
    InboundCredit credit;
    credit.Tell(row.told);
    if (row.measured > 0) InboundCredit::Share(credit).SetRate(row.measured);
    std::vector<std::unique_ptr<InboundCredit::Share>> streams;
    while (streams.size() < row.streams)
      streams.push_back(std::make_unique<InboundCredit::Share>(credit));
    EXPECT_EQ(streams.front()->Queue(0, kLeast), row.queue)
        << row.told << " " << row.measured << " " << row.streams;
  }
}

// It has no say in what the link carries: the shard would take it for shown.
TEST(InboundCredit, AnObjectThatIsTooShortForASampleSaysWhatTheNextBeginsWith) {
  InboundCredit credit;
  credit.NoteShort(256_KiB, milliseconds(12));
  credit.NoteShort(64_KiB, milliseconds(1));
  EXPECT_EQ(InboundCredit::Share(credit).Queue(0, kLeast), 256_KiB) << "too slow, too small";
  credit.NoteShort(1_MiB, milliseconds(5));
  EXPECT_EQ(InboundCredit::Share(credit).Queue(0, kLeast), 1_MiB);
  EXPECT_EQ(credit.bytes_per_second(), 0u);
  EXPECT_EQ(credit.measured(), kNever);
  InboundCredit::Share(credit).SetRate(kRate);
  EXPECT_EQ(InboundCredit::Share(credit).Queue(0, kLeast), 256_KiB) << "a sample says more";
}

}  // namespace
}  // namespace hoplite::node
