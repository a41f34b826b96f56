#include "cli/transfer_rates.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::cli {
namespace {

using namespace std::chrono_literals;

const Time kStart{1h};

class TransferRatesTest : public testing::Test {
 protected:
  TransferInfo Look(std::uint64_t valid_bytes, Duration after) {
    ClusterStatus status;
    status.objects.push_back({.id = id_, .size_bytes = 100_MiB});
    status.objects[0].transfers.push_back(
        {.object = id_, .from = "n1", .to = "n2", .valid_bytes = valid_bytes});
    rates_.Look(status, kStart + after);
    return status.objects[0].transfers[0];
  }

  const ObjectId id_ = ObjectId::FromName("x");
  TransferRates rates_;
};

TEST_F(TransferRatesTest, AreKnownFromTheSecondLookOn) {
  EXPECT_FALSE(rates_.lacks_some()) << "nothing is transferred";
  const TransferInfo first = Look(10_MiB, 0s);
  EXPECT_TRUE(rates_.lacks_some());
  EXPECT_EQ(rates_.BytesPerSecond(first), std::nullopt);
  EXPECT_EQ(rates_.ToText(first, 100_MiB), "");
  const TransferInfo second = Look(30_MiB, 2s);
  EXPECT_FALSE(rates_.lacks_some());
  EXPECT_EQ(rates_.BytesPerSecond(second), 10_MiB);
  EXPECT_EQ(rates_.ToText(second, 100_MiB), "  10.0 MiB/s, 7 s left");
}

TEST_F(TransferRatesTest, WhatStandsStillHasNoTimeLeft) {
  Look(10_MiB, 0s);
  EXPECT_EQ(rates_.ToText(Look(10_MiB, 1s), 100_MiB), "  stands still");
}

TEST_F(TransferRatesTest, ANewerVersionBeginsAnew) {
  Look(10_MiB, 0s);
  EXPECT_EQ(rates_.BytesPerSecond(Look(5_MiB, 1s)), std::nullopt);
  EXPECT_EQ(rates_.BytesPerSecond(Look(6_MiB, 2s)), 1_MiB);
}

}  // namespace
}  // namespace hoplite::cli
