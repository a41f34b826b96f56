#include "node/pull/lanes.h"

#include <bit>

namespace hoplite::node {
namespace {

StripeMask MissingFrom(const store::Copy& copy) {
  const Layout& layout = copy.layout();
  StripeMask missing = 0;
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    if (copy.mark(s) < layout.stripe_block_count(s)) missing |= StripeMask{1} << s;
  }
  return missing;
}

}  // namespace

std::vector<StripeMask> SplitIntoLanes(const store::Copy& copy, StripeMask stripes,
                                       std::uint64_t two_lanes_from) {
  const Layout& layout = copy.layout();
  const bool large = layout.size_bytes >= two_lanes_from && !copy.windowed();
  const bool alone = (MissingFrom(copy) & ~stripes) == 0;
  if (!large || !alone || std::popcount(stripes) < 2) return {stripes};
  StripeMask even = 0;
  int nth = 0;
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    if ((stripes >> s & 1) != 0 && nth++ % 2 == 0) even |= StripeMask{1} << s;
  }
  return {even, stripes & ~even};
}

}  // namespace hoplite::node
