// World: the node that asked for a reduction, and the sources.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

// Of a reduction whose sources don't come back: longer than faults take to be repaired, and than
// all sources take one after the other, within the time that a history may have.
Duration DeadlineOf(const Options& options, std::size_t sources) {
  constexpr double kFaultSeconds = 60;
  constexpr double kMostSeconds = 3000;
  const double folding = static_cast<double>(sources) * static_cast<double>(options.size_bytes) /
                         static_cast<double>(options.bytes_per_second);
  return FromSeconds(std::min(kFaultSeconds + 2 * folding, kMostSeconds));
}

}  // namespace

Reduction::Reduction(const ReduceOptions& options_in, NodeIndex node, planner::Twin twin)
    : options(options_in),
      coordinator(node),
      planner(options_in, NodeId{node + 1}, kRequest, twin),
      witness(options_in.num_objects.value_or(options_in.sources.size())) {}

void World::PutSource(NodeIndex index, const ObjectId& source) {
  Member& member = members_[index];
  if (!member.alive || member.sources.contains(source)) return;
  member.putting.insert(source);
  Say(index, planner::Create{.object = source, .layout = layout_});
}

void World::Reduce(const ReduceOptions& request, NodeIndex coordinator) {
  reduction_.emplace(request, coordinator, options_.twin);
  if (!members_[coordinator].alive) return;
  reduction_->asked = true;
  for (const ObjectId& source : request.sources) Say(coordinator, planner::Subscribe{source});
  Say(coordinator, planner::ReduceOpen{object_, Reduction::kRequest});
  After(DeadlineOf(options_, request.sources.size()), [this] { GiveUp(); });
}

// The deadline of the reduction and of those who wait for its target.
void World::GiveUp() {
  const bool reduces = members_[reduction_->coordinator].alive && !reduction_->ended;
  if (reduces) EndReduce(ErrorCode::kTimeout);
  const bool there = std::ranges::any_of(members_, [](const Member& member) {
    return member.alive && member.node.copy() && member.node.copy()->complete;
  });
  for (NodeIndex index = 0; index < members_.size(); ++index) {
    if (!members_[index].alive || !members_[index].node.waiting()) continue;
    if (there) Fail(fmt::format("P9: n{} waited in vain although the target is there", index));
    Cancel(index);
  }
}

void World::Drive() {
  Reduction& reduction = *reduction_;
  if (!members_[reduction.coordinator].alive || reduction.ended) return;
  std::vector<planner::NodeEvent> orders;
  const Time next = reduction.planner.Plan(now_, orders);
  for (planner::NodeEvent& order : orders) Say(reduction.coordinator, std::move(order));
  if (reduction.planner.failure()) return EndReduce(reduction.planner.failure()->code);
  if (next == kNever || reduction.drive_at == next) return;
  reduction.drive_at = next;
  At(next, [this] { Drive(); });
}

void World::EndReduce(ErrorCode code) {
  reduction_->ended = true;
  Say(reduction_->coordinator,
      planner::ReduceClose{object_, Reduction::kRequest, code, "simulated"});
  for (const ObjectId& source : reduction_->options.sources) {
    Say(reduction_->coordinator, planner::Unsubscribe{source});
  }
}

// True: it was said to the coordinator of the reduction.
bool World::HearCoordinator(NodeIndex index, const planner::NodeAction& action) {
  Reduction& reduction = *reduction_;
  if (const auto* committed = std::get_if<planner::ReduceCommitted>(&action)) {
    TargetCommitted(index, committed->version);
    if (index != reduction.coordinator || committed->request != Reduction::kRequest) return true;
    if (!reduction.ended) reduction.committed_at = now_;
    if (!reduction.ended) EndReduce(ErrorCode::kCancelled);
    return true;
  }
  if (const auto* opened = std::get_if<planner::ReduceOpened>(&action)) {
    reduction.planner.OnOpened(opened->link);
    for (planner::NodeEvent& order : reduction.planner.Orders()) Say(index, std::move(order));
  } else if (const auto* lost = std::get_if<planner::SlotLost>(&action)) {
    reduction.planner.OnSlotLost(*lost, now_);
  } else if (const auto* location = std::get_if<planner::Location>(&action)) {
    HearLocation(*location);
  } else if (std::holds_alternative<planner::ReduceRefused>(action)) {
    reduction.ended = true;
  } else {
    return false;
  }
  Drive();
  return true;
}

void World::HearLocation(const planner::Location& location) {
  Reduction& reduction = *reduction_;
  if (location.kind == planner::LocationKind::kGone) {
    reduction.holders.erase({location.object, location.node});
    reduction.planner.OnHolderGone(location.object, location.node);
  } else if (location.kind == planner::LocationKind::kComplete || location.producing) {
    reduction.holders.emplace(location.object, location.node);
    reduction.planner.OnHolder(location.object, location.node, location.version, location.layout,
                               location.metadata, now_);
  }
}

// What belongs to the reduction, before the end of the inventory.
void World::AddInventory(NodeIndex index, std::vector<planner::NodeEvent>& events) {
  const Member& member = members_[index];
  std::vector<planner::NodeEvent> more;
  for (const auto& [source, version] : member.sources) {
    more.emplace_back(planner::Held{.object = source,
                                    .version = version,
                                    .layout = layout_,
                                    .marks = layout_.full_marks(),
                                    .complete = true,
                                    .primary = true});
  }
  for (const ObjectId& source : member.putting) {
    more.emplace_back(planner::Create{.object = source, .layout = layout_});
  }
  for (const auto& [slot, known] : member.slots) {
    std::ranges::move(known.Inventory(), std::back_inserter(more));
  }
  const bool coordinates = reduction_ && reduction_->coordinator == index && !reduction_->ended;
  if (coordinates && reduction_->asked) {
    // What went while it was away is not told again.
    for (const auto& [source, node] : std::exchange(reduction_->holders, {})) {
      reduction_->planner.OnHolderGone(source, node);
    }
    for (const ObjectId& source : reduction_->options.sources) {
      more.emplace_back(planner::Subscribe{source});
    }
    more.emplace_back(planner::ReduceOpen{object_, Reduction::kRequest});
  }
  events.insert(events.end() - 1, more.begin(), more.end());
}

// What the directory answers now.
void World::CheckReduce() {
  ReduceWitness& witness = reduction_->witness;
  if (witness.committed()) {
    const auto view = directory_->Find(object_);
    const bool there = view && std::ranges::any_of(view->holders, &planner::HolderView::complete);
    if (!there) witness.TargetLost();
  }
  Fail(witness.Check(actions_));
}

std::string World::CheckReduceAtRest() const {
  const Reduction& reduction = *reduction_;
  std::set<ObjectId> there;
  for (const Member& member : members_) {
    if (!member.alive) continue;
    for (const auto& [source, version] : member.sources) there.insert(source);
  }
  const std::size_t wanted =
      reduction.options.num_objects.value_or(reduction.options.sources.size());
  const bool alive = members_[reduction.coordinator].alive;
  const bool open = alive && !reduction.ended;
  if (open) return "P9: the reduction has no end";
  // Once the directory forgot a commit that the coordinator did not hear of, it looks like a
  // stranger's Put.
  const bool gave_up = alive && !reduction.committed_at && !reduction.witness.target_was_lost();
  if (gave_up && there.size() >= wanted) {
    return "P9: the reduction waited in vain although its sources are there";
  }
  for (const Member& member : members_) {
    if (!member.alive || member.slots.empty()) continue;
    return fmt::format("P10: n{} still executes position {}", Raw(member.node.id()) - 1,
                       member.slots.begin()->first);
  }
  const auto view = directory_ ? directory_->Find(object_) : std::nullopt;
  if (view && !view->slots.empty()) return "P10: the directory keeps positions of what has ended";
  return {};
}

}  // namespace hoplite::sim
