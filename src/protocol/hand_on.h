// How a Give goes on (R83).
#pragma once

#include <vector>

#include "protocol/node_action.h"

namespace hoplite::protocol {

struct HandedOn {
  NodeInfo to;
  InlineObject given;
};

// What a node that gets it sends to those of its list: half of those who are left go with the first
// of that half, until nobody is left. So all have the bytes after as many steps as their number has
// binary digits.
std::vector<HandedOn> HandOn(const InlineObject& given);

}  // namespace hoplite::protocol
