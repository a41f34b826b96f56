#include "sim/small_world/search.h"

#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

// Longer histories of so few nodes and faults go round in circles.
constexpr std::size_t kLongestPath = 400;

struct Frame {
  SmallWorld world;
  std::vector<Step> steps;
  std::size_t next = 0;
};

}  // namespace

std::string SearchResult::ToString() const {
  std::string text = fmt::format("{} states, {}", states, violation.empty() ? "sound" : violation);
  for (const Step& step : path) text += "\n  " + sim::ToString(step);
  return text;
}

SearchResult Search(const SmallOptions& options, std::uint64_t most_states) {
  SearchResult result;
  std::unordered_set<std::uint64_t> seen;
  std::vector<Frame> stack;
  SmallWorld start(options);
  seen.insert(start.Fingerprint());
  stack.push_back({start, start.Steps()});
  while (!stack.empty() && result.violation.empty() && seen.size() < most_states) {
    Frame& frame = stack.back();
    if (frame.next == frame.steps.size()) {
      stack.pop_back();
      continue;
    }
    const Step& step = frame.steps[frame.next++];
    // The last step needs no copy.
    const bool last = frame.next == frame.steps.size();
    SmallWorld world = last ? std::move(frame.world) : frame.world;
    world.Do(step);
    result.violation = world.violation();
    if (result.violation.empty() && stack.size() > kLongestPath) result.violation = "P9: no rest";
    if (!result.violation.empty()) break;
    if (!seen.insert(world.Fingerprint()).second) continue;
    std::vector<Step> steps = world.Steps();
    if (world.AtRest()) ++result.rests;
    stack.push_back({std::move(world), std::move(steps)});
  }
  for (const Frame& frame : stack) {
    if (!result.violation.empty() && frame.next > 0)
      result.path.push_back(frame.steps[frame.next - 1]);
  }
  result.states = seen.size();
  result.exhausted = stack.empty();
  return result;
}

}  // namespace hoplite::sim
