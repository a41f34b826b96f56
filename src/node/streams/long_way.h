// LongWay: how many bytes of a stream the way to its source holds, beside the queue (R128, R129).
//
// Decides: what the credit of a far source adds to the queue. Twice what the last round trip brought,
// as long as that brings more: so credit grows as fast as TCP's own window does. Then what the rate of
// the stream brings. Is told: the way, what came and when, when the source had nothing to send. Must
// never: fill the way beyond twice of what it holds, with however many streams; take a queue for
// distance: within a site a way counts only where it holds more than half of the stream's own queue.
// Less is filled by the queue alone, and may be one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace hoplite::node {

class LongWay {
 public:
  static constexpr double kMore = 1.25;  // than the best: worth another doubling
  static constexpr int kInVain = 3;      // round trips that brought less end it
  static constexpr Duration kShortest = std::chrono::milliseconds(10);  // of those that are judged

  // So many bytes came until now: by this stream, and to the node by so many streams.
  struct Bytes {
    std::uint64_t own = 0;
    std::uint64_t all = 0;
    int streams = 1;
  };

  // The least round trip to the source; `neighbour`: of the own site.
  void SetWay(Duration way, bool neighbour) {
    way_ = way;
    neighbour_ = neighbour;
  }
  Duration way() const { return way_; }

  void Came(Time now, const Bytes& bytes) {
    if (!doubles_) return;
    bytes_ = bytes;
    if (part_begun_ == kNever) Begin(now);
    for (const Duration part = Round() / kParts; now - part_begun_ >= part; part_begun_ += part) {
      ++parts_;
      if (parts_ % kParts == 0) Judge();
      Mark() = bytes;
    }
  }
  // The source had nothing to send: this round trip says nothing.
  void Starved() { part_begun_ = kNever; }

  // What the way holds of a stream at this rate (bytes per second) with so much of a queue.
  std::uint64_t Holds(double rate, std::uint64_t queue) const {
    const double brought = doubles_ ? PerSecond() : 0;
    const double once = std::max(rate, brought) * ToSeconds(way_);
    if (neighbour_ && once <= static_cast<double>(queue) / 2) return 0;
    return static_cast<std::uint64_t>(std::max(rate, 2 * brought) * ToSeconds(way_));
  }

 private:
  // A round trip is looked at by its parts, and a part more: bytes come in bursts, a burst each time.
  static constexpr std::size_t kParts = 8;
  using Marks = std::array<Bytes, kParts + 2>;

  Duration Round() const { return std::max(way_, kShortest); }
  Bytes& Mark() { return marks_[parts_ % marks_.size()]; }
  void Begin(Time now) {
    part_begun_ = now;
    parts_ = 0;
    marks_.fill(bytes_);
  }
  const Bytes& Before(std::size_t parts) const {
    return marks_[(parts_ + marks_.size() - parts) % marks_.size()];
  }
  // Where streams come in turns, each seems to have the link at times.
  double PerSecond() const {
    const auto streams = static_cast<std::uint64_t>(std::max(bytes_.streams, 1));
    const Bytes& before = Before(kParts + 1);
    const std::uint64_t mean = (bytes_.all - before.all) / streams;
    return static_cast<double>(std::min(bytes_.own - before.own, mean)) / ToSeconds(Round());
  }
  void Judge() {
    const auto brought = static_cast<double>(bytes_.own - Before(kParts).own);
    if (brought > kMore * best_) {
      best_ = brought;
      in_vain_ = 0;
    } else if (++in_vain_ == kInVain) {
      doubles_ = false;
    }
  }

  Duration way_{0};
  bool neighbour_ = true;
  bool doubles_ = true;
  double best_ = 0;  // bytes of a round trip
  int in_vain_ = 0;  // since the best
  Bytes bytes_;
  Marks marks_{};  // what had come when the last parts began
  std::size_t parts_ = 0;
  Time part_begun_ = kNever;
};

}  // namespace hoplite::node
