#include "sim/small_world/search.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "sim/kit/every_order.h"
#include "sim/kit/random.h"

namespace hoplite::sim {
namespace {

// Longer histories of so few nodes and faults go round in circles.
constexpr std::size_t kLongestPath = 400;

// It may happen at any moment.
bool IsFault(Step::Kind kind) {
  static constexpr std::array kFaults{
      Step::Kind::kDie,      Step::Kind::kRestart,  Step::Kind::kDelete,   Step::Kind::kPutAgain,
      Step::Kind::kLoseRoom, Step::Kind::kAskAgain, Step::Kind::kLoseGive, Step::Kind::kJoin,
      Step::Kind::kCut,      Step::Kind::kHeal};
  return std::ranges::find(kFaults, kind) != kFaults.end();
}

// From 1 to 64: how soon the step is taken among others.
std::uint64_t HasteOf(const Step& step, std::uint64_t seed) {
  if (IsFault(step.kind)) return 1;
  const std::uint64_t which = static_cast<std::uint64_t>(step.kind) << 32 | step.node;
  return std::uint64_t{1} << 2 * Random(seed ^ (which * 7919)).Below(4);
}

// One of them, by their haste.
const Step& Drawn(const std::vector<Step>& steps, std::uint64_t seed, Random& random) {
  std::uint64_t all = 0;
  for (const Step& step : steps) all += HasteOf(step, seed);
  std::uint64_t left = random.Below(all);
  for (const Step& step : steps) {
    const std::uint64_t haste = HasteOf(step, seed);
    if (left < haste) return step;
    left -= haste;
  }
  return steps.back();
}

}  // namespace

std::string SearchResult::ToString() const {
  std::string text = fmt::format("{} states, {}", states, violation.empty() ? "sound" : violation);
  for (const Step& step : path) text += "\n  " + sim::ToString(step);
  return text;
}

SearchResult Search(const SmallOptions& options, std::uint64_t most_states) {
  return {EveryOrder<Step>(SmallWorld(options), most_states, kLongestPath)};
}

SearchResult Walk(const SmallOptions& options, std::uint64_t seed) {
  SearchResult result;
  SmallWorld world(options);
  Random random(seed);
  for (auto steps = world.Steps(); !steps.empty(); steps = world.Steps()) {
    result.path.push_back(Drawn(steps, seed, random));
    world.Do(result.path.back());
    if (world.violation().empty() && world.AtRest()) ++result.rests;
    if (result.path.size() > kLongestPath) break;
  }
  result.states = result.path.size();
  result.violation = world.violation();
  if (result.violation.empty() && result.states > kLongestPath) result.violation = "P9: no rest";
  return result;
}

}  // namespace hoplite::sim
