// ReducePlanner: who executes which slot. See docs/protocol.md, R29, R30 and R45.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "planner/reduce_cost.h"
#include "planner/reduce_planner.h"

namespace hoplite::planner {

// Nodes that lacked memory before come first and get the leaves, which need none. If there are more,
// they are asked once more: a plan by stripes needs the target beside the partial result.
void ReducePlanner::PlanTree() {
  std::vector<Group> groups;  // a fixed order folds each source at a slot of its own
  if (!options_.fixed_order) groups = InRingOrder(GroupByNode(FirstReady(wanted_)));
  const std::set<NodeId> poor = std::exchange(poor_, {});
  std::size_t count = wanted_;
  for (const Group& group : groups) count -= group.picks.size() - 1;
  BuildTree(static_cast<std::uint32_t>(count));
  if (options_.root_here) PinRoot(groups);
  for (const Group& group : groups) {
    const bool here = pinned_ != 0 && group.node == self_ && slots_.vacant().contains(pinned_);
    std::uint32_t slot = here ? pinned_ : NextVacant();
    if (!here && poor.contains(group.node)) slot = slots_.LowestLeaf().value_or(slot);
    slots_.at(slot).share = group.picks.size();
    Place(slot, group);
  }
  AvoidBlocked();
}

void ReducePlanner::BuildTree(std::uint32_t count) {
  std::uint32_t degree = options_.fixed_order ? 1 : options_.degree;
  if (degree == 0) degree = BestReduceDegree(count, *layout_, *link_);
  root_ = slots_.Build(count, degree);
  if (!options_.fixed_order) return;
  for (std::uint32_t slot = 1; slot <= count; ++slot) slot_of_.push_back(slot);
}

// The root folds what lies on this node, or else gets a root above it that only folds its output.
void ReducePlanner::PinRoot(const std::vector<Group>& groups) {
  const bool holds_some = options_.fixed_order
                              ? sources_.HolderAt(wanted_ - 1, self_) != nullptr
                              : std::ranges::find(groups, self_, &Group::node) != groups.end();
  if (holds_some) {
    pinned_ = root_;
    return;
  }
  root_ = pinned_ = slots_.AddRoot(root_);
  slots_.at(pinned_).share = 0;
  Place(pinned_, {self_, {}});
}

void ReducePlanner::Fill() {
  if (by_stripes_) return;  // nothing is vacant
  const auto& vacant = slots_.vacant();
  if (pinned_ != 0 && vacant.contains(pinned_)) {
    Place(pinned_, PicksHere(slots_.at(pinned_).share));
  }
  if (some_only_fold_) FillFolders();
  if (options_.fixed_order) {
    const auto ready = sources_.ready();
    for (const auto& [rank, source] : ready) FillFixed(source);
    return;
  }
  while (!vacant.empty() && !sources_.ready().empty()) {
    const SourceIndex first = sources_.ready().begin()->second;
    if (!Join(first)) FillOne(first);
  }
}

// Where slots only pass on what others fold, since their sources' nodes have no memory.
void ReducePlanner::FillFolders() {
  const std::vector<std::uint32_t> vacant(slots_.vacant().begin(), slots_.vacant().end());
  for (const std::uint32_t slot : vacant) {
    if (slot != pinned_ && slots_.at(slot).share == 0) Place(slot, {FolderFor(slot, kNoNode), {}});
  }
}

void ReducePlanner::FillFixed(SourceIndex source) {
  const NodeId node = NodeFor(source);
  std::uint32_t slot = slot_of_[source];
  if (const NodeId folder = FolderFor(slot, node); folder != kNoNode) {
    Place(slot, {folder, {}});
    slot = slot_of_[source] = slots_.at(slot).feeders.back();
  }
  Place(slot, {node, {source}});
}

// A late source joins a slot of its node that has others already, instead of taking one more,
// if that loses nothing. So the order of the calls does not decide how much memory is needed. Best
// is one that waits for what it is fed by: it has not folded anything yet.
bool ReducePlanner::Join(SourceIndex source) {
  return JoinOneThat(source, true) || (!slots_.HighestWaiting() && JoinOneThat(source, false));
}

bool ReducePlanner::JoinOneThat(SourceIndex source, bool is_fed) {
  for (const SourceHolder& holder : sources_.holders(source)) {
    if (!sources_.Usable(holder) || poor_.contains(holder.node)) continue;
    for (const std::uint32_t slot : slots_.At(holder.node)) {
      if (slots_.at(slot).feeders.empty() == is_fed || !MayJoin(slot)) continue;
      if (!slots_.RemoveOneFor(slot)) continue;
      ++slots_.at(slot).share;
      TakePick(slot, source);
      slots_.SayAgain(slot);
      return true;
    }
  }
  return false;
}

// One that starts again needs all its sources once more.
bool ReducePlanner::MayJoin(std::uint32_t slot) const {
  const PlannedSlot& planned = slots_.at(slot);
  if (!slots_.RestartsForFree(slot)) return false;
  for (std::size_t i = 0; i < planned.picks.size(); ++i) {
    const auto* holder = sources_.HolderAt(planned.picks[i], planned.order.node);
    if (holder == nullptr || holder->version != planned.order.inputs[i].version) return false;
  }
  return true;
}

void ReducePlanner::FillOne(SourceIndex first) {
  const std::uint32_t slot = VacantFor(NodeFor(first));
  const Group group = GroupByNode(FirstReady(slots_.at(slot).share)).front();
  const NodeId folder = FolderFor(slot, group.node);
  if (folder == kNoNode) return Place(slot, group);
  const std::size_t share = slots_.at(slot).share;
  Place(slot, {folder, {}});
  std::size_t child = slots_.at(slot).feeders.size() - share;
  for (const SourceIndex pick : group.picks) {
    const std::uint32_t below = slots_.at(slot).feeders[child++];
    Place(below, {group.node, {pick}});
  }
}

// Who folds at the slot what the node serves as it is, one slot below: the node lacks memory, or does
// not reach those around the slot (R68). kNoNode: the node itself folds there.
NodeId ReducePlanner::FolderFor(std::uint32_t slot, NodeId node) const {
  const bool lacks_one = node == kNoNode || (poor_.contains(node) && !slots_.NeedsNoMemory(slot));
  if (!lacks_one && !IsBlockedBeside(slot, node)) return kNoNode;
  const NodeId folder = FirstHelper([&](NodeId helper) {
    return !poor_.contains(helper) && !Blocked(helper, node) && !IsBlockedBeside(slot, helper);
  });
  return folder == kNoNode && lacks_one ? NodeWithMemory() : folder;
}

// Nodes that have none yet come in the order of the tree. The second source of a node goes where
// later ones can join it; else where it is served as it is.
std::uint32_t ReducePlanner::VacantFor(NodeId node) const {
  const std::uint32_t next = NextVacant();
  if (poor_.contains(node)) return slots_.LowestLeaf().value_or(next);
  if (slots_.at(next).said() || slots_.at(next).share > 1) return next;  // a lost one
  if (slots_.At(node).empty()) return next;
  if (const auto waiting = slots_.HighestWaiting()) return *waiting;
  return slots_.LowestLeaf().value_or(next);
}

// Picks that the slot stood for and that its new node can't give become its children.
void ReducePlanner::Place(std::uint32_t slot, const Group& group) {
  const std::size_t others = slots_.at(slot).share - group.picks.size();
  slots_.at(slot).share = group.picks.size();
  some_only_fold_ |= group.picks.empty();
  slots_.Assign(slot, group.node);
  for (const SourceIndex pick : group.picks) TakePick(slot, pick);
  for (std::size_t i = 0; i < others; ++i) {
    const std::uint32_t child = slots_.AddBelow(slot);
    if (options_.fixed_order && slot == pinned_) slot_of_[wanted_ - 1] = child;
  }
}

void ReducePlanner::TakePick(std::uint32_t slot, SourceIndex pick) {
  PlannedSlot& planned = slots_.at(slot);
  planned.picks.push_back(pick);
  planned.order.inputs.push_back(
      {sources_.id(pick), sources_.HolderAt(pick, planned.order.node)->version});
  sources_.Take(pick);
}

// A pinned root takes nothing but what lies on its node.
std::uint32_t ReducePlanner::NextVacant() const {
  const auto first = slots_.vacant().begin();
  return *first == pinned_ ? *std::next(first) : *first;
}

std::vector<SourceIndex> ReducePlanner::FirstReady(std::size_t count) const {
  std::vector<SourceIndex> picks;
  for (const auto& [rank, source] : sources_.ready()) {
    if (picks.size() == count) break;
    picks.push_back(source);
  }
  return picks;
}

// The first that may be used, of those with memory if there is one.
NodeId ReducePlanner::NodeFor(SourceIndex source) const {
  const auto& holders = sources_.holders(source);
  const auto found = std::ranges::find_if(holders, [this](const SourceHolder& holder) {
    return sources_.Usable(holder) && !poor_.contains(holder.node);
  });
  return found != holders.end() ? found->node : sources_.FirstHolder(source)->node;
}

// In the order of the groups' first picks. A source joins a group rather than to found one.
std::vector<ReducePlanner::Group> ReducePlanner::GroupByNode(
    const std::vector<SourceIndex>& picks) const {
  std::vector<Group> groups;
  std::map<NodeId, std::size_t> group_at;
  for (const SourceIndex pick : picks) {
    const auto& holders = sources_.holders(pick);
    const auto joined = std::ranges::find_if(holders, [&](const SourceHolder& holder) {
      return sources_.Usable(holder) && group_at.contains(holder.node) &&
             !poor_.contains(holder.node);
    });
    const NodeId node = joined != holders.end() ? joined->node : NodeFor(pick);
    const auto [group, fresh] = group_at.try_emplace(node, groups.size());
    if (fresh) groups.push_back({node, {}});
    groups[group->second].picks.push_back(pick);
  }
  return groups;
}

// Those that lacked memory, then by distance from the coordinator, itself last, as every other
// reduction over the same nodes has them (R39).
std::vector<ReducePlanner::Group> ReducePlanner::InRingOrder(std::vector<Group> groups) const {
  std::ranges::sort(groups, {}, [this](const Group& group) {
    return std::pair(!poor_.contains(group.node), Raw(group.node) - Raw(self_) - 1);
  });
  return groups;
}

ReducePlanner::Group ReducePlanner::PicksHere(std::size_t count) const {
  std::vector<SourceIndex> picks = FirstReady(count);
  if (options_.fixed_order) picks = {wanted_ - 1};
  if (count == 0) picks.clear();
  std::erase_if(picks, [&](SourceIndex pick) {
    return !sources_.is_ready(pick) || sources_.HolderAt(pick, self_) == nullptr;
  });
  return {self_, std::move(picks)};
}

// This node, one that the shard named to stand between two (R68), or one that holds a source.
NodeId ReducePlanner::FirstHelper(const std::function<bool(NodeId)>& fit) const {
  if (fit(self_)) return self_;
  for (const NodeId third : thirds_) {
    if (fit(third)) return third;
  }
  for (SourceIndex source = 0; source < sources_.size(); ++source) {
    for (const SourceHolder& holder : sources_.holders(source)) {
      if (sources_.Usable(holder) && fit(holder.node)) return holder.node;
    }
  }
  return kNoNode;
}

// If all are poor this one again.
NodeId ReducePlanner::NodeWithMemory() const {
  const NodeId found = FirstHelper([this](NodeId node) { return !poor_.contains(node); });
  return found == kNoNode ? self_ : found;
}

}  // namespace hoplite::planner
