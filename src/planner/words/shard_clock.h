// ShardClock: the time as the shard was last told it. Only grows. A value type.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace hoplite::planner {

class ShardClock {
 public:
  explicit ShardClock(Time start) : now_(start) {}
  Time now() const { return now_; }
  void Advance(Time time) { now_ = std::max(now_, time); }

 private:
  Time now_;
};

}  // namespace hoplite::planner
