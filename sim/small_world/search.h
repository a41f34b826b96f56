// Search: every order of steps of a small world, cut where a state was seen before.
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

}  // namespace hoplite::sim
