#include "net/rate_limiter.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kRate = 12'500'000;  // 100 Mbit/s
const Time kStart = Time(1h);

// In virtual time: one stream that always has bytes, and a timer that fires `late`.
double RateOf(std::uint64_t rate, Duration late, std::uint64_t bytes) {
  RateLimiter limiter(rate);
  Time now = kStart;
  for (std::uint64_t moved = 0; moved < bytes; moved += limiter.piece_bytes()) {
    const Time when = limiter.Take(limiter.piece_bytes(), now);
    if (when > now) now = when + late;
  }
  return static_cast<double>(bytes) / ToSeconds(now - kStart);
}

TEST(RateLimiter, HoldsTheRate) {
  EXPECT_NEAR(RateOf(kRate, 0us, 16_MiB), kRate, 0.01 * kRate);
  EXPECT_NEAR(RateOf(1'250'000'000, 0us, 1_GiB), 1.25e9, 0.01 * 1.25e9);
  EXPECT_NEAR(RateOf(1000, 0us, 64_KiB), 1000, 500);
}

TEST(RateLimiter, MakesUpForTimersThatFireLate) {
  EXPECT_NEAR(RateOf(kRate, 300us, 16_MiB), kRate, 0.01 * kRate);
  EXPECT_NEAR(RateOf(1'250'000'000, 100us, 1_GiB), 1.25e9, 0.02 * 1.25e9);
}

TEST(RateLimiter, BurstIsSmallAlsoAfterALongRest) {
  for (const std::uint64_t rate : {std::uint64_t{1000}, kRate, std::uint64_t{125'000'000}}) {
    RateLimiter limiter(rate);
    limiter.Take(1, kStart);
    const Time later = kStart + 1h;
    std::uint64_t at_once = 0;
    while (limiter.Take(limiter.piece_bytes(), later) <= later) at_once += limiter.piece_bytes();
    EXPECT_GT(at_once, 0u);
    EXPECT_LE(at_once, std::max<std::uint64_t>(64_KiB, rate / 100)) << rate;
  }
}

TEST(RateLimiter, StreamsThatTakeTurnsGetEqualShares) {
  RateLimiter limiter(kRate);
  std::vector<Time> ready(5, kStart);
  std::vector<int> pieces(5, 0);
  for (int i = 0; i < 5000; ++i) {
    const auto first = std::min_element(ready.begin(), ready.end());
    ++pieces[static_cast<std::size_t>(first - ready.begin())];
    *first = std::max(*first, limiter.Take(limiter.piece_bytes(), *first));
  }
  for (const int count : pieces) EXPECT_NEAR(count, 1000, 20);
}

}  // namespace
}  // namespace hoplite::net
