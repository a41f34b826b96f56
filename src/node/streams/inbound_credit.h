// InboundCredit bounds the bytes under way towards this node. A stream may have what the way to a far
// source and back holds (LongWay), and a queue. The queue is less than 100 ms of this node's
// bandwidth, from 21 Mbit/s on: so heartbeats and keep-alives come promptly through full links, and
// detection of silent peers below a second is honest (docs/protocol.md). Thread-safe.
//
// A stream's queue is the geometric mean of 256 KiB and of 100 ms of its rate: 46 ms at 100 Mbit/s. A
// queue in proportion to the rate would leave a stream at whatever rate it has while its credit waits
// behind as long a queue of the other direction; with the root only one rate is stable, and streams
// of equal ways get equal rates. The rate is its own, or the mean of all that get something:
// one whose source has bytes again, or whose neighbour has ended, grows at once into what is free. If
// all that were slower than the mean have bytes at once the queues together are longer, until rates
// are known.
//
// A stream without a rate has what the link carries in 5 ms as its first queue, from 256 KiB to 1 MiB for
// all streams together (R126). What the link carries was told, or measured, or shown by an object that
// came whole in less time than a sample takes.
//
// What the link carries is what all streams measured. The rate of one that ended stays in the sum as
// free until others have grown by as much, or their samples show that they do not: the last stripe
// of an object, alone for its last moment, has not yet the rate of the link.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/time.h"
#include "base/units.h"
#include "node/streams/long_way.h"

namespace hoplite::node {

class InboundCredit {
 public:
  static constexpr std::uint64_t kTotalMax = 4_MiB;
  static constexpr std::uint64_t kBeforeSample = 256_KiB;
  static constexpr std::uint64_t kMostBeforeSample = 1_MiB;
  static constexpr double kFirstSeconds = 0.005;
  static constexpr Duration kSample = std::chrono::milliseconds(10);  // a shorter one says little
  static constexpr double kSeconds = 0.1;

  // Bytes that a stream may have under way in all, and those of them that may wait in the queue.
  struct Credit {
    std::uint64_t queue = 0;
    std::uint64_t bytes = 0;
  };

  // What a sample of so long a time counts in a stream's rate: bytes come in bursts, so one of a
  // moment counts little.
  static double Weight(Duration elapsed, Duration way) {
    return 1 - std::exp(-ToSeconds(elapsed) / (kSeconds + ToSeconds(way)));
  }

  // One stream that receives.
  class Share {
   public:
    explicit Share(InboundCredit& credit) : credit_(credit) { ++credit_.streams_; }
    ~Share() {
      SetRate(0);
      --credit_.streams_;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Bytes that this stream may have in the queue, given its rate (bytes per second; 0 = no sample
    // yet) and the least that lets it move at all.
    std::uint64_t Queue(double rate, std::uint64_t least) const {
      const auto streams = static_cast<std::uint64_t>(std::max(credit_.streams_.load(), 1));
      const std::uint64_t before_sample = kBeforeSample / streams;
      const std::uint64_t first = rate > 0 ? before_sample : credit_.First() / streams;
      const std::uint64_t floor = std::max(first, least);
      const std::uint64_t ceiling = std::max(kTotalMax / streams, floor);
      const double fair = std::max(rate, Mean(rate));
      const double queue = std::sqrt(fair * kSeconds * static_cast<double>(before_sample));
      return std::clamp(static_cast<std::uint64_t>(queue), floor, ceiling);
    }

    Credit CreditFor(double rate, const LongWay& way, std::uint64_t least) const {
      const std::uint64_t queue = Queue(rate, least);
      return {.queue = queue, .bytes = queue + way.Holds(rate, queue)};
    }

    // What it measured while its source had bytes to send, and what the new sample counts in that;
    // 0: nothing comes, others may have its part.
    void SetRate(std::uint64_t bytes_per_second, double weight = 1) {
      const auto now = static_cast<std::int64_t>(bytes_per_second);
      const auto before = static_cast<std::int64_t>(std::exchange(rate_, bytes_per_second));
      const int flowing = credit_.flowing_ += int{now > 0} - int{before > 0};
      credit_.rate_ += now - before;
      if (flowing == 0) {
        credit_.free_ = 0;
      } else if (now == 0) {
        credit_.free_ += before;
      } else {
        const std::int64_t free = std::max<std::int64_t>(credit_.free_, 0);
        const auto taken = static_cast<std::int64_t>(weight * static_cast<double>(free)) / flowing;
        credit_.free_ -= std::clamp<std::int64_t>(now - before, before > 0 ? taken : 0, free);
        credit_.last_ = credit_.Sum();
        credit_.shown_ = 0;
        credit_.measured_ = hoplite::Now();
      }
    }

   private:
    // Of the streams that get something, this one at this rate.
    double Mean(double rate) const {
      const int others = credit_.flowing_.load() - int{rate_ > 0};
      const double their_rates =
          static_cast<double>(credit_.rate_.load()) - static_cast<double>(rate_);
      return (std::max(their_rates, 0.0) + rate) / (std::max(others, 0) + 1);
    }

    InboundCredit& credit_;
    std::uint64_t rate_ = 0;
  };

  // What the link carries, if a person has said it.
  void Tell(std::uint64_t bytes_per_second) { told_ = bytes_per_second; }
  // An object came whole before there was a sample. It says what the next ones may begin with, and
  // nothing of what the link carries under load.
  void NoteShort(std::uint64_t bytes, Duration elapsed) {
    if (bytes < kBeforeSample || elapsed <= Duration{0} || elapsed >= kSample) return;
    shown_ = static_cast<std::uint64_t>(static_cast<double>(bytes) / ToSeconds(elapsed));
  }

  int flowing() const { return flowing_; }  // streams that get something
  // When that was measured which is next; kNever: not yet.
  Time measured() const { return flowing_ > 0 ? hoplite::Now() : measured_.load(); }
  // Of all streams together: what the link towards this node carries, or did when there were some;
  // 0 without a sample.
  std::uint64_t bytes_per_second() const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(rate_ > 0 ? Sum() : last_.load(), 0));
  }

 private:
  std::int64_t Sum() const { return rate_ + free_; }
  std::uint64_t First() const {
    const std::uint64_t told = told_;
    const double known =
        static_cast<double>(told > 0 ? told : std::max(bytes_per_second(), shown_.load()));
    return std::clamp(static_cast<std::uint64_t>(known * kFirstSeconds), kBeforeSample,
                      kMostBeforeSample);
  }

  std::atomic<int> streams_{0};
  std::atomic<int> flowing_{0};        // whose rate is not 0
  std::atomic<std::int64_t> rate_{0};  // of all of them
  std::atomic<std::int64_t> free_{0};  // of those that ended
  std::atomic<std::int64_t> last_{0};
  std::atomic<std::uint64_t> told_{0};   // 0: nobody has
  std::atomic<std::uint64_t> shown_{0};  // by the last object that was too short for a sample
  std::atomic<Time> measured_{kNever};
};

}  // namespace hoplite::node
