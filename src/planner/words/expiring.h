// A set of keys that each end at a time of their own: tombstones, pairs kept apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hoplite::planner {

// A value type; O(log n) for everything but Expire, which costs what it removes.
template <typename Key>
class Expiring {
 public:
  // An entry that is there already only gets longer.
  void Insert(const Key& key, Time until) {
    auto [entry, fresh] = until_.try_emplace(key, until);
    if (!fresh) {
      if (entry->second >= until) return;
      by_time_.erase({entry->second, key});
      entry->second = until;
    }
    by_time_.insert({until, key});
  }

  void Erase(const Key& key) {
    const auto entry = until_.find(key);
    if (entry == until_.end()) return;
    by_time_.erase({entry->second, key});
    until_.erase(entry);
  }

  std::optional<Time> Until(const Key& key, Time now) const {
    const auto entry = until_.find(key);
    if (entry == until_.end() || entry->second <= now) return std::nullopt;
    return entry->second;
  }
  bool Contains(const Key& key, Time now) const { return Until(key, now).has_value(); }

  // Removes and returns what ended at or before `now`, in order of time: at most so many.
  std::vector<Key> Expire(Time now, std::size_t most = std::numeric_limits<std::size_t>::max()) {
    std::vector<Key> ended;
    while (ended.size() < most && !by_time_.empty() && by_time_.begin()->first <= now) {
      ended.push_back(by_time_.begin()->second);
      until_.erase(ended.back());
      by_time_.erase(by_time_.begin());
    }
    return ended;
  }

  Time next() const { return by_time_.empty() ? kNever : by_time_.begin()->first; }
  const std::map<Key, Time>& entries() const { return until_; }
  bool Consistent() const {
    return until_.size() == by_time_.size() && std::ranges::all_of(until_, [&](const auto& entry) {
             return by_time_.contains({entry.second, entry.first});
           });
  }

 private:
  std::map<Key, Time> until_;
  std::set<std::pair<Time, Key>> by_time_;
};

}  // namespace hoplite::planner
