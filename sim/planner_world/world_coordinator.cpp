// World: the node that asked for a reduction, and the sources.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

// The deadline of a reduction, for the case that its sources don't come back. It is longer than
// faults take to be repaired and than all sources take one after the other, and within the time
// that a history may have.
Duration DeadlineOf(const Options& options, std::size_t sources) {
  constexpr double kFaultSeconds = 60;
  constexpr double kMostSeconds = 3000;
  const double folding = static_cast<double>(sources) * static_cast<double>(options.size_bytes) /
                         static_cast<double>(options.bytes_per_second);
  return FromSeconds(std::min(kFaultSeconds + 2 * folding, kMostSeconds));
}

planner::StripePlans PlansAllowed(const Options& options) {
  using enum planner::StripePlans;
  if (options.reduce->two_trees) return kTwoTrees;
  if (options.without.ring) return options.without.trees ? kTree : kNoRing;
  return options.without.trees ? kNoTwoTrees : kWhatPays;
}

}  // namespace

Reduction::Reduction(const ReduceOptions& options_in, NodeIndex node_in, std::uint32_t stripes,
                     planner::StripePlans allowed)
    : options(options_in),
      node(node_in),
      coordinator(options_in, NodeId{node_in + 1}, kRequest, allowed),
      witness(options_in.num_objects.value_or(options_in.sources.size()), stripes) {}

void World::PutSource(NodeIndex index, const ObjectId& source) {
  Member& member = members_[index];
  if (!member.alive || member.sources.contains(source)) return;
  member.putting.insert(source);
  Say(index, protocol::Create{.object = source, .layout = layout_});
}

void World::Reduce(const ReduceOptions& request, NodeIndex coordinator) {
  reduction_.emplace(request, coordinator, layout_.stripe_count, PlansAllowed(options_));
  if (!members_[coordinator].alive) return;
  reduction_->coordinator.OnSite(members_[coordinator].node.id(), SiteName(coordinator));
  reduction_->asked = true;
  for (const ObjectId& source : request.sources) Say(coordinator, protocol::Subscribe{source});
  Say(coordinator, reduction_->coordinator.Request());
  After(DeadlineOf(options_, request.sources.size()), [this] { GiveUp(); });
}

// The deadline of the reduction and of those who wait for its target.
void World::GiveUp() {
  const bool reduces = members_[reduction_->node].alive && !reduction_->ended;
  const Error late(ErrorCode::kTimeout, "simulated");
  if (reduces) EndReduce(&late);
  const bool there = std::ranges::any_of(members_, [](const Member& member) {
    return member.alive && member.node.copy() && member.node.copy()->complete;
  });
  for (NodeIndex index = 0; index < members_.size(); ++index) {
    if (!members_[index].alive || !members_[index].node.waiting()) continue;
    if (there && MayGet(index)) {
      Fail(fmt::format("P9: n{} waited in vain although the target is there", index));
    }
    CallOf(index, &VirtualNode::StopHelping);
    Cancel(index);
  }
}

void World::Drive() {
  Reduction& reduction = *reduction_;
  if (!members_[reduction.node].alive || reduction.ended) return;
  std::vector<protocol::NodeEvent> orders;
  const Time next = reduction.coordinator.Plan(now_, orders);
  SayOrders(std::move(orders));
  if (const auto outcome = reduction.coordinator.Outcome()) {
    return EndReduce(*outcome ? nullptr : &outcome->error());
  }
  if (next == kNever || reduction.drive_at == next) return;
  reduction.drive_at = next;
  At(next, [this] { Drive(); });
}

void World::SayOrders(std::vector<protocol::NodeEvent> orders) {
  const NodeIndex index = reduction_->node;
  if (pairs_) Fail(pairs_->CheckPlan(orders, members_[index].node.id(), now_));
  for (protocol::NodeEvent& order : orders) Say(index, std::move(order));
}

void World::EndReduce(const Error* why) {
  reduction_->ended = true;
  if (reduction_->coordinator.committed()) reduction_->committed_at = now_;
  if (auto close = reduction_->coordinator.Close(why)) Say(reduction_->node, std::move(*close));
  for (const ObjectId& source : reduction_->options.sources) {
    Say(reduction_->node, protocol::Unsubscribe{source});
  }
}

// True: the action was meant for the coordinator of the reduction.
bool World::HearCoordinator(NodeIndex index, const protocol::NodeAction& action) {
  if (const auto* committed = std::get_if<protocol::ReduceCommitted>(&action)) {
    TargetCommitted(index, committed->version);
    if (index != reduction_->node || reduction_->ended) return true;
  }
  std::vector<protocol::NodeEvent> orders;
  if (!reduction_->coordinator.Hear(action, now_, orders)) return false;
  if (pairs_) pairs_->CoordinatorHears(action, now_);
  SayOrders(std::move(orders));
  Drive();
  return true;
}

// Adds what belongs to the reduction, before the end of the inventory.
void World::AddInventory(NodeIndex index, std::vector<protocol::NodeEvent>& events) {
  const Member& member = members_[index];
  std::vector<protocol::NodeEvent> more;
  for (const auto& [source, version] : member.sources) {
    more.emplace_back(protocol::Held{.object = source,
                                     .version = version,
                                     .layout = layout_,
                                     .marks = layout_.full_marks(),
                                     .complete = true,
                                     .primary = true});
  }
  for (const ObjectId& source : member.putting) {
    more.emplace_back(protocol::Create{.object = source, .layout = layout_});
  }
  for (const auto& [slot, known] : member.slots) {
    std::ranges::move(known.state.Inventory(), std::back_inserter(more));
  }
  const bool coordinates = reduction_ && reduction_->node == index && !reduction_->ended;
  if (coordinates && reduction_->asked) {
    reduction_->coordinator.ForgetHolders();
    for (const ObjectId& source : reduction_->options.sources) {
      more.emplace_back(protocol::Subscribe{source});
    }
    more.emplace_back(reduction_->coordinator.Request());
  }
  events.insert(events.end() - 1, more.begin(), more.end());
}

// Checks what the directory answers now.
void World::CheckReduce() {
  ReduceWitness& witness = reduction_->witness;
  if (witness.committed()) {
    const auto view = directory_->state().Find(object_);
    const bool there = view && std::ranges::any_of(view->holders, &protocol::HolderView::complete);
    if (!there) witness.TargetLost();
  }
  for (const planner::Action& action : actions_) {
    const auto* commit = std::get_if<protocol::ReduceCommitted>(&action.body);
    if (commit == nullptr || !made_in_parts_.contains(commit->version)) continue;
    if (witness.was_committed(commit->version) || SomeoneHasAll(commit->version)) continue;
    Fail("P6: the commit came when nobody had all of the target");
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
  const bool alive = members_[reduction.node].alive;
  const bool open = alive && !reduction.ended;
  if (open) return "P9: the reduction has no end";
  // When the directory has forgotten a commit of which the coordinator did not hear, the target
  // looks like a stranger's Put.
  // Or it was lost for a while: its reduction has ended for whoever waited (R69).
  const auto outcome = reduction.coordinator.Outcome();
  const bool was_lost = outcome && !*outcome && outcome->error().code == ErrorCode::kPeerLost;
  const bool gave_up =
      alive && !reduction.committed_at && !was_lost && !reduction.witness.target_was_lost();
  if (gave_up && there.size() >= wanted) {
    if (std::string why = WhyNoPlan(); !why.empty()) return why;
  }
  for (const Member& member : members_) {
    if (!member.alive || member.slots.empty()) continue;
    return fmt::format("P10: n{} still executes slot {}", Raw(member.node.id()) - 1,
                       member.slots.begin()->first);
  }
  const auto view = directory_ ? directory_->state().Find(object_) : std::nullopt;
  if (view && !view->slots.empty()) return "P10: the directory keeps slots of what has ended";
  return {};
}

}  // namespace hoplite::sim
