// What the planners believe about links. The rate is measured at run time; what stands here counts
// until the first report: a slow link, since a line on a fast one loses hops, but a star on a slow
// one loses whole transfers.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace hoplite::protocol {

struct LinkModel {
  Duration latency = std::chrono::microseconds(200);  // one message to a peer
  Duration overhead = std::chrono::microseconds(50);  // cost per message at an end point
  double bytes_per_second = 1.25e8;                   // payload rate of one link
  bool guessed = false;  // too few rates were measured to believe this one
};

}  // namespace hoplite::protocol
