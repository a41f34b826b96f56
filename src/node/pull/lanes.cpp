#include "node/pull/lanes.h"

#include <bit>

namespace hoplite::node {

std::vector<StripeMask> SplitIntoLanes(const store::Copy& copy, StripeMask stripes,
                                       std::uint64_t two_lanes_from) {
  const Layout& layout = copy.layout();
  const bool large = layout.size_bytes >= two_lanes_from && !copy.windowed();
  const bool alone = (layout.missing(copy.marks()) & ~stripes) == 0;
  if (!large || !alone || std::popcount(stripes) < 2) return {stripes};
  StripeMask even = 0;
  int nth = 0;
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    if ((stripes >> s & 1) != 0 && nth++ % 2 == 0) even |= StripeMask{1} << s;
  }
  return {even, stripes & ~even};
}

}  // namespace hoplite::node
