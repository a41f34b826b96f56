// An allgather in the planner world: each node puts an object, and all others want it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <hoplite/result.h>

#include "sim/planner_world/options.h"

namespace hoplite::sim {

// How the shards number the nodes. Ring order needs that all do it alike; only tests choose otherwise, to
// see what it brings.
enum class Numbering : std::uint8_t { kAlike, kByArrival, kEachItsOwn };

struct AllgatherReport {
  double seconds = 0;           // from the start until the last node had the last object
  double bound_seconds = 0;     // (n − 1) S/B + one latency: what comes over each down link
  double busiest_up_link = 0;   // objects that it carried
  std::uint32_t completed = 0;  // Gets
  std::uint64_t events = 0;
  std::string violation;  // empty, or the first broken property in words
  std::string replay;     // the command that runs this history again

  double ratio() const { return bound_seconds > 0 ? seconds / bound_seconds : 0; }
};

// One object on each of options.nodes, put before the start; the others ask for each at moments of
// their own within options.spread. Each object has a shard of its own, which sees nothing of the
// others. invalid_argument: faults, which belong to broadcasts and reductions.
Result<AllgatherReport> RunAllgather(const Options& options,
                                     Numbering numbering = Numbering::kAlike);

// What the lines of the report for people mean.
std::string_view AllgatherLegend();
std::string ToText(const AllgatherReport& report);
std::string ToJson(const AllgatherReport& report);

}  // namespace hoplite::sim
