// Histories by their seeds: run one, or many one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "sim/node_world/options.h"
#include "sim/node_world/world.h"

namespace hoplite::node_world {

// The shell command that runs this history again, told line by line.
std::string ReplayCommand(std::uint64_t seed);

// What the words of a tally mean, for people.
std::string_view Legend();

struct Tally {
  std::uint64_t histories = 0;
  std::uint64_t steps = 0;
  std::uint64_t calls = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t sums = 0;
  std::uint64_t rings = 0;
  std::uint64_t forests = 0;
  std::uint64_t windows = 0;
  std::uint64_t resumed = 0;
  std::uint64_t spilled = 0;
  std::uint64_t full = 0;        // histories in which a node had no room for a while
  std::uint64_t most_turns = 0;  // of one node within a second
  Digest digest;                 // of the histories' own
  // The first history that broke a property.
  std::optional<std::uint64_t> broken_seed;
  std::string violation;

  void Add(std::uint64_t seed, const Report& report);
  std::string ToString() const;
};

// Seeds first, first + 1, …; ends with the first violation.
Tally RunSeeds(std::uint64_t first, std::uint64_t count);

}  // namespace hoplite::node_world
