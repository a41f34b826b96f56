// RateLimiter: one token bucket for all streams of a node in one direction. Decides when the next
// piece of bytes may move; told how many and what time it is; waits for nothing itself, so streams
// wait on their own timers and can be closed meanwhile. Streams that ask in turns, a piece at a
// time, share it fairly. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "base/time.h"

namespace hoplite::net {

class RateLimiter {
 public:
  explicit RateLimiter(std::uint64_t bytes_per_second);  // > 0

  // The largest piece to ask for at once.
  std::size_t piece_bytes() const { return piece_bytes_; }
  // Takes `bytes` from the bucket. They may move at the returned time (now or before: at once).
  Time Take(std::size_t bytes, Time now);

 private:
  const std::uint64_t bytes_per_second_;
  const std::size_t piece_bytes_;
  const Duration burst_;  // how far behind the rate the bucket may fall and catch up
  Mutex mutex_;
  // When everything taken so far has moved, at the rate.
  Time paid_until_ HOPLITE_GUARDED_BY(mutex_){};
};

}  // namespace hoplite::net
