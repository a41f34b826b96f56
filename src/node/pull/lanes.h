// Over how many connections a grant is fetched.
#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "store/copy.h"

namespace hoplite::node {

// The stripes of a grant as disjoint sets, one for each connection: two, on loops of their own, for
// an object of `two_lanes_from` bytes or more. One where other grants feed the rest of the copy:
// several streams share the credit of the node then, and each has its own already. One for a window:
// it has room only near its lowest missing byte, which the other connection might have to bring.
std::vector<StripeMask> SplitIntoLanes(const store::Copy& copy, StripeMask stripes,
                                       std::uint64_t two_lanes_from);

}  // namespace hoplite::node
