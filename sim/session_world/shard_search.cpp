// The searches of ShardWorld: breadth first, and histories of chance.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/kit/random.h"
#include "sim/session_world/shard_world.h"

namespace hoplite::sim {
namespace {

void AddStep(std::string& path, const ShardStep& step) {
  path += fmt::format("\n  {} ({})", step.name, step.who);
}

// How a state was reached first: its step's place among those of the state before.
struct Origin {
  std::uint64_t before = 0;
  std::uint32_t step = 0;
};
using Origins = std::unordered_map<std::uint64_t, Origin>;

std::string PathTo(ShardWorld world, const Origins& origins, std::uint64_t state) {
  const std::uint64_t start = world.Fingerprint();
  std::vector<std::uint32_t> places;
  for (; state != start; state = origins.at(state).before) {
    places.push_back(origins.at(state).step);
  }
  std::string path;
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const ShardStep step = world.Steps()[*place];
    AddStep(path, step);
    world.Do(step);
  }
  return path;
}

// Each walk prefers steps of its own: one member is slow in it, or one node, or time passes often.
class Taste {
 public:
  explicit Taste(std::uint64_t seed) : seed_(seed) {}
  const ShardStep& Draw(const std::vector<ShardStep>& steps, Random& random) const {
    std::uint64_t sum = 0;
    for (const ShardStep& step : steps) sum += WeightOf(step);
    std::uint64_t at = random.Below(sum);
    std::size_t drawn = 0;
    for (; at >= WeightOf(steps[drawn]); ++drawn) at -= WeightOf(steps[drawn]);
    return steps[drawn];
  }

 private:
  static constexpr std::array<std::uint64_t, 4> kWeights{1, 4, 16, 32};
  // Time and faults come less often than the rest.
  std::uint64_t WeightOf(const ShardStep& step) const {
    const std::uint64_t mixed = Digest().Add(step.name).Add(step.who).Add(seed_).value();
    return kWeights[(mixed >> 8) % (ShardWorld::IsRare(step) ? 3 : 4)];
  }

  std::uint64_t seed_;
};

}  // namespace

ShardResult SearchShards(const ShardOptions& options, std::uint64_t most_states) {
  const ShardWorld start(options);
  ShardResult result{.violation = start.violation()};
  Origins origins{{start.Fingerprint(), {}}};
  std::vector<std::pair<std::uint64_t, ShardWorld>> level{{start.Fingerprint(), start}};
  while (!level.empty() && origins.size() < most_states && result.violation.empty()) {
    std::vector<std::pair<std::uint64_t, ShardWorld>> next;
    for (const auto& [state, world] : level) {
      const std::vector<ShardStep> steps = world.Steps();
      for (std::uint32_t i = 0; i < steps.size(); ++i) {
        ShardWorld after = world;
        after.Do(steps[i]);
        if (!after.violation().empty()) {
          result.violation = after.violation();
          result.path = PathTo(start, origins, state);
          AddStep(result.path, steps[i]);
          result.states = origins.size();
          return result;
        }
        const std::uint64_t reached = after.Fingerprint();
        if (origins.emplace(reached, Origin{state, i}).second) {
          next.emplace_back(reached, std::move(after));
        }
      }
      if (origins.size() >= most_states) break;
    }
    level = std::move(next);
  }
  result.states = origins.size();
  result.exhausted = level.empty();
  return result;
}

ShardResult WalkShards(const ShardOptions& options, std::uint64_t walks, std::uint32_t length,
                       std::uint64_t seed) {
  const ShardWorld start(options);
  ShardResult result{.violation = start.violation()};
  Random random(seed);
  for (std::uint64_t walk = 0; walk < walks && result.violation.empty(); ++walk) {
    ShardWorld world = start;
    const Taste taste(random.Next());
    result.path.clear();
    for (std::uint32_t i = 0; i < length && world.violation().empty(); ++i) {
      const std::vector<ShardStep> steps = world.Steps();
      if (steps.empty()) break;
      const ShardStep& step = taste.Draw(steps, random);
      AddStep(result.path, step);
      world.Do(step);
      ++result.states;
    }
    if (world.violation().empty()) world.Rest();
    result.violation = world.violation();
  }
  if (result.violation.empty()) result.path.clear();
  return result;
}

}  // namespace hoplite::sim
