// RoundTrips: how far away this node's peers are. Decides what counts as the way to a site or to a peer
// of the own one (R129), and who is nearest.
//
// A queue that stood in the way was measured with it. So the least sample counts, and within a site
// nothing counts as a way but what was measured while no other stream brought bytes: that of another
// one may be no more than its queue. Is told what connections measured, and when bytes came.
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <string>

#include "base/mutex.h"
#include "base/time.h"

namespace hoplite::node {

class RoundTrips {
 public:
  static constexpr std::size_t kSamples = 16;
  static constexpr std::size_t kMostPlaces = 10'000;  // then all are measured anew
  static constexpr Duration kQuiet = std::chrono::milliseconds(100);
  // As long as the kernel keeps the least of a connection. Then a way may have become longer.
  static constexpr Duration kLasts = std::chrono::minutes(5);

  struct Sample {
    Duration way{0};     // 0: there is none
    bool quiet = false;  // nothing else came meanwhile
  };
  enum class Place { kNeighbour, kSite };

  // Two ways must stay below the time after which a peer counts as out of reach.
  explicit RoundTrips(Duration stall) : farthest_(stall / 2 - std::chrono::milliseconds(1)) {}

  // Bytes of a stream came.
  void NoteBytes(Time now) { came_.store(now, std::memory_order_relaxed); }
  // None came for a while before that moment, nor since then.
  bool QuietSince(Time then) const { return came_.load() < then - kQuiet; }

  // The least to that peer of the own site, by its address, or to another site, by its name; 0: not
  // known.
  Duration Least(Place place, const std::string& name, Sample sample, Time now) {
    const Duration way = std::min(sample.way, farthest_);
    const MutexLock lock(mutex_);
    const auto known = least_.find({place, name});
    if (way <= Duration{0}) return known == least_.end() ? Duration{0} : known->second.way;
    if (known != least_.end()) {
      Known& least = known->second;
      const bool outlived = sample.quiet && now - least.at >= kLasts;
      if (way <= least.way || outlived) least = {way, now};
      return least.way;
    }
    if (place == Place::kNeighbour && !sample.quiet) return Duration{0};
    if (least_.size() >= kMostPlaces) least_.clear();
    least_[{place, name}] = {way, now};
    return way;
  }

  // A connection begins a conversation: what it measured.
  void NoteNearest(Duration way) {
    const MutexLock lock(mutex_);
    if (way > Duration{0}) samples_[noted_++ % kSamples] = way;
  }
  // Of all peers, the least of the last samples; 0: no sample yet.
  Duration nearest() const {
    const MutexLock lock(mutex_);
    if (noted_ == 0) return Duration{0};
    return *std::min_element(samples_.begin(), samples_.begin() + std::min(noted_, kSamples));
  }

 private:
  struct Known {
    Duration way{};
    Time at{};
  };

  const Duration farthest_;
  std::atomic<Time> came_{Time::min() + kQuiet};
  mutable Mutex mutex_;
  std::array<Duration, kSamples> samples_ HOPLITE_GUARDED_BY(mutex_){};
  std::size_t noted_ HOPLITE_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<Place, std::string>, Known> least_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::node
