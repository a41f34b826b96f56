// What the planners believe about links: numbers measured at run time, never compiled in.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace hoplite::planner {

struct LinkModel {
  Duration latency = std::chrono::microseconds(200);  // one message to a peer
  Duration overhead = std::chrono::microseconds(50);  // cost per message at an end point
  double bytes_per_second = 1.25e9;                   // payload rate of one link
};

}  // namespace hoplite::planner
