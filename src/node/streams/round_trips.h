// RoundTrips: how far away this node's peers are. A connection that was made through a full queue
// knows only times with that queue in them, others to the same place know better: so the least.
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "base/mutex.h"
#include "base/time.h"

namespace hoplite::node {

class RoundTrips {
 public:
  static constexpr std::size_t kSamples = 16;
  static constexpr std::size_t kMostPeers = 10'000;  // then all are measured anew
  // Nobody on Earth is farther away; a queue may be longer.
  static constexpr Duration kFarthest = std::chrono::milliseconds(600);

  // A sample of a connection to that address; 0 is none. Returns the least to there, 0 if there is
  // no sample.
  Duration Note(const std::string& address, Duration sample) {
    const MutexLock lock(mutex_);
    if (sample > Duration{0}) samples_[noted_++ % kSamples] = sample;
    const auto known = least_.find(address);
    if (sample <= Duration{0}) return known == least_.end() ? Duration{0} : known->second;
    sample = std::min(sample, kFarthest);
    if (known != least_.end()) return known->second = std::min(known->second, sample);
    if (least_.size() >= kMostPeers) least_.clear();
    return least_[address] = sample;
  }
  // Of all peers, the least of the last samples; 0: no sample yet.
  Duration nearest() const {
    const MutexLock lock(mutex_);
    if (noted_ == 0) return Duration{0};
    return *std::min_element(samples_.begin(), samples_.begin() + std::min(noted_, kSamples));
  }

 private:
  mutable Mutex mutex_;
  std::array<Duration, kSamples> samples_ HOPLITE_GUARDED_BY(mutex_){};
  std::size_t noted_ HOPLITE_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Duration> least_ HOPLITE_GUARDED_BY(mutex_);  // by address
};

}  // namespace hoplite::node
