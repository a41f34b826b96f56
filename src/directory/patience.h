// Patience: for how long one side of a session bears the other's silence (R58).
//
// Decides: it is a lease; where the other side was slow of late, four times that, up to five leases.
// Is told: by how much the other side was late, each time that it was heard. That counts half as
// much with each second. A value type.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace hoplite::directory {

class Patience {
 public:
  void Heard(Duration late, Time now) {
    if (late < Latest(now)) return;
    latest_ = late;
    since_ = now;
  }
  Duration With(Duration lease, Time now) const {
    const Duration most = lease > Duration::max() / 5 ? lease : 5 * lease;
    return std::clamp(4 * Latest(now), lease, most);
  }

 private:
  Duration Latest(Time now) const {
    const std::int64_t seconds = (now - since_) / std::chrono::seconds(1);
    return latest_ / (std::int64_t{1} << std::clamp<std::int64_t>(seconds, 0, 30));
  }

  Duration latest_{0};
  Time since_{};
};

}  // namespace hoplite::directory
