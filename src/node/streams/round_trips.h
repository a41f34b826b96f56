// RoundTrips: how far away this node's peers are. A connection that was made through a full queue
// measures the queue, too. So the least sample counts: of all connections to a site, or of the last
// ones to anybody. Thread-safe.
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
  static constexpr std::size_t kMostSites = 10'000;  // then all are measured anew
  // What is farther away counts as this far: it may be a queue, and two such ways must stay below the
  // time after which a peer counts as out of reach.
  static constexpr Duration kFarthest = std::chrono::milliseconds(200);

  // A sample of a connection to that site; 0 is none. Returns the least to there, 0 if there is no
  // sample.
  Duration Note(const std::string& site, Duration sample) {
    const MutexLock lock(mutex_);
    if (sample > Duration{0}) samples_[noted_++ % kSamples] = sample;
    const auto known = least_.find(site);
    if (sample <= Duration{0}) return known == least_.end() ? Duration{0} : known->second;
    sample = std::min(sample, kFarthest);
    if (known != least_.end()) return known->second = std::min(known->second, sample);
    if (least_.size() >= kMostSites) least_.clear();
    return least_[site] = sample;
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
  std::map<std::string, Duration> least_ HOPLITE_GUARDED_BY(mutex_);  // by site
};

}  // namespace hoplite::node
