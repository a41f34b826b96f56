#include "sim/small_world/search.h"

#include <fmt/format.h>

#include "sim/kit/every_order.h"

namespace hoplite::sim {
namespace {

// Longer histories of so few nodes and faults go round in circles.
constexpr std::size_t kLongestPath = 400;

}  // namespace

std::string SearchResult::ToString() const {
  std::string text = fmt::format("{} states, {}", states, violation.empty() ? "sound" : violation);
  for (const Step& step : path) text += "\n  " + sim::ToString(step);
  return text;
}

SearchResult Search(const SmallOptions& options, std::uint64_t most_states) {
  return {EveryOrder<Step>(SmallWorld(options), most_states, kLongestPath)};
}

}  // namespace hoplite::sim
