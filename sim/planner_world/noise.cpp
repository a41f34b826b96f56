#include "sim/planner_world/noise.h"

#include <algorithm>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kLateness = 0x6c617465;
constexpr std::uint64_t kFewAreLate = 4;
constexpr std::int64_t kOthersAreLess = 8;

}  // namespace

std::string_view Noise::Wrong() const {
  if (late.count() < 0) return "late must not be negative";
  return {};
}

void AddNoise(std::string& command, const Noise& noise) {
  if (noise.late.count() > 0) command += fmt::format(" --late {}ns", noise.late.count());
}

Lateness::Node& Lateness::Of(std::uint32_t node) {
  while (nodes_.size() <= node) {
    nodes_.push_back(
        {.random = Random(Random(seed_ ^ kLateness).Next() + nodes_.size()), .heard = {}});
  }
  return nodes_[node];
}

void Lateness::Forget() {
  for (Node& node : nodes_) node.heard = {};
}

Time Lateness::Hears(std::uint32_t node, Time now) {
  Node& said = Of(node);
  Duration late{0};
  if (late_.count() > 0) {
    const bool much = said.random.Below(kFewAreLate) == 0;
    late = said.random.Within(much ? late_ : late_ / kOthersAreLess);
  }
  said.heard = std::max(said.heard, now + latency_ + late);
  return said.heard;
}

Time Lateness::Sees(std::uint32_t node, Time now) {
  Node& said = Of(node);
  said.heard = std::max(said.heard, now + latency_);
  return said.heard;
}

}  // namespace hoplite::sim
