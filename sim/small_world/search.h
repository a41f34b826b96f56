// Search: every order of steps of a small world, cut where a state was seen before. Walk: one order of
// them, for worlds that have too many.
#pragma once

#include <cstdint>
#include <string>

#include "sim/kit/every_order.h"
#include "sim/small_world/small_world.h"

namespace hoplite::sim {

struct SearchResult : OrdersResult<Step> {
  // The violation and its steps, one a line.
  std::string ToString() const;
};

SearchResult Search(const SmallOptions& options, std::uint64_t most_states);

// Until nothing can happen any more. How soon each node takes each kind of step is drawn first, so that
// a message may be on its way while much else happens. The same seed walks the same way.
SearchResult Walk(const SmallOptions& options, std::uint64_t seed);

}  // namespace hoplite::sim
