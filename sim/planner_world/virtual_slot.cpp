#include "sim/planner_world/virtual_slot.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/kit/random.h"

namespace hoplite::sim {

Payload PayloadOf(const ObjectId& source) { return Random(source.Hash()).Next(); }

void VirtualSlot::FoldSources(const std::map<ObjectId, Version>& of_node) {
  for (const planner::SlotInput& input : order.order.inputs) {
    const auto source = of_node.find(input.object);
    failed |= source == of_node.end() || source->second != input.version;
    sum += PayloadOf(input.object);
  }
}

std::string VirtualSlot::BrokenContents() const {
  for (const Version& version : contains) {
    const bool fed = std::ranges::any_of(
        children, [&](const auto& child) { return child.second.feed.input_version == version; });
    if (fed) continue;
    return fmt::format("P3: slot {} version {} contains bytes of version {}, which was replaced",
                       order.order.slot, ToString(order.version), ToString(version));
  }
  return {};
}

std::vector<planner::NodeEvent> VirtualSlot::Inventory() const {
  const std::uint32_t slot = order.order.slot;
  std::vector<planner::NodeEvent> events{
      planner::SlotProgress{.object = order.object, .slot = slot, .version = order.version}};
  if (failed) events.emplace_back(planner::SlotFailed{order.object, slot, order.version});
  for (const auto& [input, child] : children) {
    const Version& version = child.feed.input_version;
    if (child.drained) {
      events.emplace_back(planner::SlotDrained{order.object, slot, order.version, input, version});
    } else if (child.reported) {
      events.emplace_back(planner::SlotFailed{order.object, slot, order.version, input, version});
    }
  }
  if (root() && final) events.emplace_back(planner::ReduceCommit{order.object, order.version});
  return events;
}

// Adds what a small world uses: no copies of a network.
void VirtualSlot::AddTo(Digest& digest) const {
  digest.Add(order.order.slot).Add(order.version).Add(sum).Add(final).Add(failed);
  for (const auto& [input, child] : children) {
    digest.Add(input).Add(child.feed.input_version).Add(child.drained).Add(child.reported);
  }
}

}  // namespace hoplite::sim
