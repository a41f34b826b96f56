// Search: every order of steps of a small world, cut where a state was seen before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/small_world/small_world.h"

namespace hoplite::sim {

struct SearchResult {
  std::uint64_t states = 0;
  std::uint64_t rests = 0;  // states in which nothing but faults can happen
  std::string violation;    // the first broken property
  std::vector<Step> path;   // the steps that led to it
  bool exhausted = false;   // every state was visited

  // The violation and its steps, one a line.
  std::string ToString() const;
};

SearchResult Search(const SmallOptions& options, std::uint64_t most_states);

}  // namespace hoplite::sim
