// InboundCredit: how many bytes may be under way towards this node. Bounding them to about 100 ms
// of its bandwidth is what keeps heartbeats and keep-alives prompt behind full links, and so what
// makes detection of silent peers below a second honest (docs/protocol.md). Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/units.h"

namespace hoplite::node {

class InboundCredit {
 public:
  static constexpr std::uint64_t kTotalMax = 4_MiB;
  static constexpr std::uint64_t kBeforeSample = 256_KiB;
  static constexpr double kSeconds = 0.1;

  // One stream that receives; while it lives it takes an equal share.
  class Share {
   public:
    explicit Share(InboundCredit& credit) : credit_(credit) { ++credit_.streams_; }
    ~Share() {
      SetRate(0);
      --credit_.streams_;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Bytes that this stream may have under way, given its rate (bytes per second; 0 = no sample
    // yet) and the least that lets it move at all.
    std::uint64_t Window(double rate, std::uint64_t least) const {
      const auto streams = static_cast<std::uint64_t>(std::max(credit_.streams_.load(), 1));
      const std::uint64_t floor = std::max(kBeforeSample / streams, least);
      const std::uint64_t ceiling = std::max(kTotalMax / streams, floor);
      return std::clamp(static_cast<std::uint64_t>(rate * kSeconds), floor, ceiling);
    }

    // What it measured while its source had bytes to send.
    void SetRate(std::uint64_t bytes_per_second) {
      const auto change = static_cast<std::int64_t>(bytes_per_second) -
                          static_cast<std::int64_t>(std::exchange(rate_, bytes_per_second));
      const std::int64_t sum = credit_.rate_ += change;
      if (bytes_per_second > 0) credit_.last_ = sum;
    }

   private:
    InboundCredit& credit_;
    std::uint64_t rate_ = 0;
  };

  // Of all streams together: what the link towards this node carries, or did when there were some;
  // 0 without a sample.
  std::uint64_t bytes_per_second() const {
    const std::int64_t now = rate_.load();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(now > 0 ? now : last_.load(), 0));
  }

 private:
  std::atomic<int> streams_{0};
  std::atomic<std::int64_t> rate_{0};
  std::atomic<std::int64_t> last_{0};
};

}  // namespace hoplite::node
