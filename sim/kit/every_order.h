// EveryOrder: every order of steps of a world, cut where a state was seen before.
//
// A World is a value: Steps() says what may happen next, Do(step) lets one of it happen,
// violation() names the first broken property, Fingerprint() knows a state again, AtRest() whether
// nothing but a fault can happen. Depth first; the last step of a state needs no copy of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hoplite::sim {

template <typename Step>
struct OrdersResult {
  std::uint64_t states = 0;
  std::uint64_t rests = 0;  // states in which nothing but faults can happen
  std::string violation;    // the first broken property
  std::vector<Step> path;   // the steps that led to it
  bool exhausted = false;   // every state was visited
};

// Longer histories than `longest` break a property, too: they go round in circles.
template <typename Step, typename World>
OrdersResult<Step> EveryOrder(World start, std::uint64_t most_states, std::size_t longest) {
  struct Frame {
    World world;
    std::vector<Step> steps;
    std::size_t next = 0;
  };
  OrdersResult<Step> result;
  std::unordered_set<std::uint64_t> seen;
  std::vector<Frame> stack;
  seen.insert(start.Fingerprint());
  std::vector<Step> first = start.Steps();
  stack.push_back({std::move(start), std::move(first)});
  while (!stack.empty() && result.violation.empty() && seen.size() < most_states) {
    Frame& frame = stack.back();
    if (frame.next == frame.steps.size()) {
      stack.pop_back();
      continue;
    }
    const Step& step = frame.steps[frame.next++];
    const bool last = frame.next == frame.steps.size();
    World world = last ? std::move(frame.world) : frame.world;
    world.Do(step);
    result.violation = world.violation();
    if (result.violation.empty() && stack.size() > longest) result.violation = "P9: no rest";
    if (!result.violation.empty()) break;
    if (!seen.insert(world.Fingerprint()).second) continue;
    std::vector<Step> steps = world.Steps();
    if (world.AtRest()) ++result.rests;
    stack.push_back({std::move(world), std::move(steps)});
  }
  for (const Frame& frame : stack) {
    if (!result.violation.empty() && frame.next > 0) {
      result.path.push_back(frame.steps[frame.next - 1]);
    }
  }
  result.states = seen.size();
  result.exhausted = stack.empty();
  return result;
}

}  // namespace hoplite::sim
