#include "sim/planner_world/virtual_slot.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/kit/random.h"

namespace hoplite::sim {

Payload PayloadOf(const ObjectId& source) { return Random(source.Hash()).Next(); }

namespace {

Payload SumOf(const std::vector<protocol::SlotInput>& inputs) {
  Payload sum = 0;
  for (const protocol::SlotInput& input : inputs) sum += PayloadOf(input.object);
  return sum;
}

}  // namespace

VirtualSlot::VirtualSlot(const protocol::SlotAssigned& order, const std::string& node_name,
                         Time now)
    : state(order, node_name, now), sums(order.layout.stripe_count, SumOf(order.order.inputs)) {}

void VirtualSlot::LookAtSources(const std::map<ObjectId, Version>& here, Time now,
                                planner::SlotState::Effects& effects) {
  const std::vector<protocol::SlotInput>& wanted = state.order().order.inputs;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto source = here.find(wanted[i].object);
    const bool there = source != here.end() && source->second == wanted[i].version;
    const auto found = there ? planner::OwnSource::kFinal : planner::OwnSource::kMissing;
    state.OnSource(i, found, now, effects);
  }
}

std::string VirtualSlot::BrokenContents() const {
  for (const Version& version : contains) {
    const bool fed = std::ranges::any_of(state.children(), [&](const auto& child) {
      return child.second.feed.input_version == version;
    });
    if (fed) continue;
    return fmt::format("P3: slot {} version {} contains bytes of version {}, which was replaced",
                       state.number(), ToString(state.version()), ToString(version));
  }
  return {};
}

void VirtualSlot::AddTo(Digest& digest) const {
  state.AddTo(digest);
  for (const Payload sum : sums) digest.Add(sum);
}

}  // namespace hoplite::sim
