#include "net/rate_limiter.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/units.h"

namespace hoplite::net {
namespace {

// Long enough to make up for a timer that fires late, short enough not to show on a link.
constexpr Duration kBurst = std::chrono::milliseconds(2);
constexpr std::uint64_t kLeastBurstBytes = 16_KiB;
constexpr std::uint64_t kMostBurstBytes = 1_MiB;

std::uint64_t BurstBytes(std::uint64_t rate) {
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(rate) * ToSeconds(kBurst));
  return std::clamp(wanted, kLeastBurstBytes, kMostBurstBytes);
}

Duration TimeFor(std::uint64_t bytes, std::uint64_t rate) {
  return FromSeconds(static_cast<double>(bytes) / static_cast<double>(rate));
}

}  // namespace

RateLimiter::RateLimiter(std::uint64_t bytes_per_second)
    : bytes_per_second_(bytes_per_second),
      piece_bytes_(BurstBytes(bytes_per_second) / 4),
      burst_(TimeFor(BurstBytes(bytes_per_second), bytes_per_second)) {
  HOPLITE_CHECK(bytes_per_second > 0, "no limit is no limiter");
}

Time RateLimiter::Take(std::size_t bytes, Time now) {
  const MutexLock lock(mutex_);
  paid_until_ = std::max(paid_until_, now) + TimeFor(bytes, bytes_per_second_);
  return paid_until_ - burst_;
}

}  // namespace hoplite::net
