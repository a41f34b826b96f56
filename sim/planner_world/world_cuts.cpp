// World: nodes that can't connect to each other (R68), and what must come of it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

// As long as a real node has patience with what it was told to take.
constexpr Duration kHelpsFor = std::chrono::seconds(10);
// Longer than a shard leaves any pair alone.
constexpr Duration kTriedWithin = std::chrono::seconds(5);

// If it is healed at all.
constexpr Duration kHealedWithin = std::chrono::seconds(8);

}  // namespace

void World::WriteCuts(Time start, Duration horizon) {
  for (const auto& [one, other] : options_.cut_pairs) {
    At(Time{}, [=, this] {
      CutOff(one, other);
      CutOff(other, one);
    });
  }
  for (std::uint32_t i = 0; i < options_.cuts; ++i) {
    const auto one = static_cast<NodeIndex>(random_.Below(options_.nodes));
    const auto step = static_cast<NodeIndex>(1 + random_.Below(options_.nodes - 1));
    const NodeIndex other = (one + step) % options_.nodes;
    const bool both_ways = random_.Below(2) == 0;
    const Time from = random_.Below(2) == 0 ? start : start + random_.Within(horizon);
    const Time until = from + random_.Within(kHealedWithin);
    const bool heals = random_.Below(2) == 0;
    for (const auto& [receiver, source] : {std::pair(one, other), std::pair(other, one)}) {
      if (receiver == other && !both_ways) continue;
      At(from, [=, this] { CutOff(receiver, source); });
      if (heals) At(until, [=, this] { Heal(receiver, source); });
    }
  }
}

void World::CutOff(NodeIndex receiver, NodeIndex source) {
  cuts_.Cut(receiver, source);
  BreakBetween(receiver, source);
  BreakSlotStreams(receiver, source);
}

// Who waits for that source alone tries it again soon, if neither has another session meanwhile.
void World::Heal(NodeIndex receiver, NodeIndex source) {
  cuts_.Heal(receiver, source);
  if (!WaitsFor(receiver, source)) return;
  After(kTriedWithin, [this, receiver, source, rest = RestOf(receiver, source)] {
    if (!WaitsFor(receiver, source) || cuts_.Has(receiver, source)) return;
    if (RestOf(receiver, source) != rest) return;
    Fail(fmt::format("P9: n{} did not try n{} again, which it can connect to since {:.1f} s",
                     receiver, source, ToSeconds(kTriedWithin)));
  });
}

World::Rest World::RestOf(NodeIndex receiver, NodeIndex source) const {
  return {directory_life_, members_[receiver].connection + members_[source].connection};
}

// And for nothing else: nobody pulls anything.
bool World::WaitsFor(NodeIndex receiver, NodeIndex source) const {
  const Member& waits = members_[receiver];
  const Member& has = members_[source];
  const bool both = waits.alive && has.alive && directory_ && waits.node.connected() &&
                    has.node.connected() && has.node.copy() && has.node.copy()->complete;
  return both && waits.node.waiting() && waits.memory_free <= now_ &&
         std::ranges::all_of(members_,
                             [](const Member& any) { return any.node.streams().empty(); });
}

void World::HelpFor(NodeIndex index, Time since) {
  After(kHelpsFor, [this, index, since] {
    const VirtualNode& node = members_[index].node;
    if (!members_[index].alive || !node.helping()) return;
    if (!node.streams().empty() && now_ < since + 6 * kHelpsFor) return HelpFor(index, since);
    CallOf(index, &VirtualNode::StopHelping);
  });
}

bool World::HasWay(NodeIndex receiver, NodeIndex source) const {
  std::vector<NodeIndex> thirds;
  for (NodeIndex index = 0; index < members_.size(); ++index) {
    if (members_[index].alive) thirds.push_back(index);
  }
  return cuts_.HasWay(receiver, source, thirds);
}

bool World::MayGet(NodeIndex receiver) const {
  for (NodeIndex source = 0; source < members_.size(); ++source) {
    const Member& member = members_[source];
    const bool whole = member.alive && member.node.copy() && member.node.copy()->complete;
    if (whole && source != receiver && HasWay(receiver, source)) return true;
  }
  return false;
}

void World::GiveUpGets() {
  bool goes_on = false;
  for (NodeIndex index = 0; index < members_.size(); ++index) {
    const VirtualNode& node = members_[index].node;
    if (!members_[index].alive || !node.waiting()) continue;
    if (!node.streams().empty()) {  // its link is slow
      goes_on = true;
      continue;
    }
    if (!node.helping() && MayGet(index)) {
      Fail(fmt::format("P9: n{} waited in vain although there is a way to the object", index));
    }
    CallOf(index, &VirtualNode::StopHelping);
    Cancel(index);
  }
  if (goes_on) After(kPatience, [this] { GiveUpGets(); });
}

// Of a reduction that was given up although its sources are there. Who has no way round two that
// can't connect names both of them; who stands between them needs memory.
std::string World::WhyNoPlan() const {
  const std::string& why = reduction_->coordinator.planner().last_loss();
  std::vector<NodeIndex> thirds;
  for (NodeIndex index = 0; index + options_.reduce->poor_nodes < members_.size(); ++index) {
    if (members_[index].alive) thirds.push_back(index);
  }
  for (const auto& [receiver, source] : cuts_.all()) {
    const bool both = members_[receiver].alive && members_[source].alive;
    if (!both || cuts_.HasWay(receiver, source, thirds)) continue;
    const bool named =
        why.contains(fmt::format("n{}:1", receiver)) && why.contains(fmt::format("n{}:1", source));
    if (named) return {};
  }
  return fmt::format("P9: the reduction waited in vain although its sources are there ({})", why);
}

}  // namespace hoplite::sim
