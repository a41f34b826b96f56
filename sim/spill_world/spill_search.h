// SpillSearch: every state of a SpillWorld, and which of them are bad.
#pragma once

#include <cstddef>
#include <string>

#include "sim/spill_world/spill_world.h"

namespace hoplite::sim {

struct SpillFound {
  std::size_t states = 0;
  std::size_t stuck = 0;   // not all calls have ended, and nothing can happen
  std::size_t doomed = 0;  // no end can be reached, whatever happens
  std::size_t broken = 0;  // what must never be
  std::string way = {};    // to the first bad state
};

SpillFound SpillSearch(const SpillWorld& world);

}  // namespace hoplite::sim
