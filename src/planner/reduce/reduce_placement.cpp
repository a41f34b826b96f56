#include "planner/reduce/reduce_placement.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "planner/reduce/reduce_cost.h"
#include "planner/reduce/reduce_detours.h"

namespace hoplite::planner {

std::size_t WantedOf(const ReduceOptions& options) {
  return options.num_objects.value_or(options.sources.size());
}

// Nodes that lacked memory before come first and get childless slots, which need none. If there are
// more, they are asked once more: a plan by stripes needs the target beside the partial result.
void ReducePlacement::PlanTree() {
  std::vector<ReduceMember> members;  // a fixed order folds each source at a slot of its own
  if (!options_.fixed_order) members = InRingOrder(MembersOf(FirstReady(wanted_)));
  const std::set<NodeId> poor = peers_.ForgetPoor();
  std::size_t count = wanted_;
  for (const ReduceMember& member : members) count -= member.picks.size() - 1;
  BuildTree(static_cast<std::uint32_t>(count));
  if (options_.root_here) PinRoot(members);
  for (const ReduceMember& member : members) {
    const bool here =
        plan_.pinned != 0 && member.node == self_ && slots_.vacant().contains(plan_.pinned);
    std::uint32_t slot = here ? plan_.pinned : NextVacant();
    if (!here && poor.contains(member.node)) slot = slots_.LowestLeaf().value_or(slot);
    slots_.at(slot).share = member.picks.size();
    Place(slot, member);
  }
  AvoidBlocked(peers_, poor, plan_);
}

void ReducePlacement::BuildTree(std::uint32_t count) {
  std::uint32_t degree = options_.fixed_order ? 1 : options_.degree;
  if (degree == 0) degree = BestReduceDegree(count, layout_, link_);
  plan_.root = slots_.Build(count, degree);
  if (!options_.fixed_order) return;
  for (std::uint32_t slot = 1; slot <= count; ++slot) plan_.slot_of.push_back(slot);
}

// The root folds what lies on this node, or else gets a root above it that only folds its output.
void ReducePlacement::PinRoot(const std::vector<ReduceMember>& members) {
  const bool holds_some =
      options_.fixed_order
          ? sources_.HolderAt(wanted_ - 1, self_) != nullptr
          : std::ranges::find(members, self_, &ReduceMember::node) != members.end();
  if (holds_some) {
    plan_.pinned = plan_.root;
    return;
  }
  plan_.root = plan_.pinned = slots_.AddRoot(plan_.root);
  slots_.at(plan_.pinned).share = 0;
  Place(plan_.pinned, {self_, {}});
}

void ReducePlacement::Fill() {
  if (plan_.by_stripes) return;  // nothing is vacant
  const auto& vacant = slots_.vacant();
  if (plan_.pinned != 0 && vacant.contains(plan_.pinned)) {
    Place(plan_.pinned, PicksHere(slots_.at(plan_.pinned).share));
  }
  if (plan_.some_only_fold) FillFolders();
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
void ReducePlacement::FillFolders() {
  const std::vector<std::uint32_t> vacant(slots_.vacant().begin(), slots_.vacant().end());
  for (const std::uint32_t slot : vacant) {
    if (slot != plan_.pinned && slots_.at(slot).share == 0)
      Place(slot, {FolderFor(slot, kNoNode), {}});
  }
}

void ReducePlacement::FillFixed(SourceIndex source) {
  const NodeId node = NodeFor(source);
  std::uint32_t slot = plan_.slot_of[source];
  if (const NodeId folder = FolderFor(slot, node); folder != kNoNode) {
    Place(slot, {folder, {}});
    slot = plan_.slot_of[source] = slots_.at(slot).feeders.back();
  }
  Place(slot, {node, {source}});
}

// A late source joins a slot of its node that has others already, instead of taking one more,
// if that loses nothing. So the order of the calls does not decide how much memory is needed. Best
// is one that waits for what it is fed by: it has not folded anything yet.
bool ReducePlacement::Join(SourceIndex source) {
  return JoinOneThat(source, true) || (!slots_.HighestWaiting() && JoinOneThat(source, false));
}

bool ReducePlacement::JoinOneThat(SourceIndex source, bool is_fed) {
  for (const SourceHolder& holder : sources_.holders(source)) {
    if (!sources_.Usable(holder) || peers_.IsPoor(holder.node)) continue;
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
bool ReducePlacement::MayJoin(std::uint32_t slot) const {
  const PlannedSlot& planned = slots_.at(slot);
  if (!slots_.RestartsForFree(slot)) return false;
  for (std::size_t i = 0; i < planned.picks.size(); ++i) {
    const auto* holder = sources_.HolderAt(planned.picks[i], planned.order.node);
    if (holder == nullptr || holder->version != planned.order.inputs[i].version) return false;
  }
  return true;
}

void ReducePlacement::FillOne(SourceIndex first) {
  const std::uint32_t slot = VacantFor(NodeFor(first));
  const ReduceMember member = MembersOf(FirstReady(slots_.at(slot).share)).front();
  const NodeId folder = FolderFor(slot, member.node);
  if (folder == kNoNode) return Place(slot, member);
  const std::size_t share = slots_.at(slot).share;
  Place(slot, {folder, {}});
  std::size_t child = slots_.at(slot).feeders.size() - share;
  for (const SourceIndex pick : member.picks) {
    const std::uint32_t below = slots_.at(slot).feeders[child++];
    Place(below, {member.node, {pick}});
  }
}

// Who folds at the slot what the node serves as it is, one slot below: the node lacks memory, or does
// not reach those around the slot (R68). kNoNode: the node itself folds there.
NodeId ReducePlacement::FolderFor(std::uint32_t slot, NodeId node) const {
  const bool lacks_one = node == kNoNode || (peers_.IsPoor(node) && !slots_.NeedsNoMemory(slot));
  if (!lacks_one && !IsBlockedBeside(peers_, slots_, slot, node)) return kNoNode;
  const NodeId folder = peers_.FirstHelper(sources_, [&](NodeId helper) {
    return !peers_.IsPoor(helper) && !peers_.Blocked(helper, node) &&
           !IsBlockedBeside(peers_, slots_, slot, helper);
  });
  return folder == kNoNode && lacks_one ? peers_.WithMemory(sources_) : folder;
}

// Nodes that have none yet come in the order of the tree. The second source of a node goes where
// later ones can join it; else where it is served as it is.
std::uint32_t ReducePlacement::VacantFor(NodeId node) const {
  const std::uint32_t next = NextVacant();
  if (peers_.IsPoor(node)) return slots_.LowestLeaf().value_or(next);
  if (slots_.at(next).said() || slots_.at(next).share > 1) return next;  // a lost one
  if (slots_.At(node).empty()) return next;
  if (const auto waiting = slots_.HighestWaiting()) return *waiting;
  return slots_.LowestLeaf().value_or(next);
}

// Picks that the slot stood for and that its new node can't give become its children.
void ReducePlacement::Place(std::uint32_t slot, const ReduceMember& member) {
  const std::size_t others = slots_.at(slot).share - member.picks.size();
  slots_.at(slot).share = member.picks.size();
  plan_.some_only_fold |= member.picks.empty();
  slots_.Assign(slot, member.node);
  for (const SourceIndex pick : member.picks) TakePick(slot, pick);
  for (std::size_t i = 0; i < others; ++i) {
    const std::uint32_t child = slots_.AddBelow(slot);
    if (options_.fixed_order && slot == plan_.pinned) plan_.slot_of[wanted_ - 1] = child;
  }
}

void ReducePlacement::TakePick(std::uint32_t slot, SourceIndex pick) {
  PlannedSlot& planned = slots_.at(slot);
  planned.picks.push_back(pick);
  planned.order.inputs.push_back(
      {sources_.id(pick), sources_.HolderAt(pick, planned.order.node)->version});
  sources_.Take(pick);
}

// A pinned root takes nothing but what lies on its node.
std::uint32_t ReducePlacement::NextVacant() const {
  const auto first = slots_.vacant().begin();
  return *first == plan_.pinned ? *std::next(first) : *first;
}

std::vector<SourceIndex> ReducePlacement::FirstReady(std::size_t count) const {
  std::vector<SourceIndex> picks;
  for (const auto& [rank, source] : sources_.ready()) {
    if (picks.size() == count) break;
    picks.push_back(source);
  }
  return picks;
}

// The first that may be used, of those with memory if there is one.
NodeId ReducePlacement::NodeFor(SourceIndex source) const {
  const auto& holders = sources_.holders(source);
  const auto found = std::ranges::find_if(holders, [this](const SourceHolder& holder) {
    return sources_.Usable(holder) && !peers_.IsPoor(holder.node);
  });
  return found != holders.end() ? found->node : sources_.FirstHolder(source)->node;
}

// In the order of their first picks. A source goes to a member that is one already if it can.
std::vector<ReduceMember> ReducePlacement::MembersOf(const std::vector<SourceIndex>& picks) const {
  std::vector<ReduceMember> members;
  std::map<NodeId, std::size_t> place_of;
  for (const SourceIndex pick : picks) {
    const auto& holders = sources_.holders(pick);
    const auto joined = std::ranges::find_if(holders, [&](const SourceHolder& holder) {
      return sources_.Usable(holder) && place_of.contains(holder.node) &&
             !peers_.IsPoor(holder.node);
    });
    const NodeId node = joined != holders.end() ? joined->node : NodeFor(pick);
    const auto [place, fresh] = place_of.try_emplace(node, members.size());
    if (fresh) members.push_back({node, {}});
    members[place->second].picks.push_back(pick);
  }
  return members;
}

// Those that lacked memory, then site by site, the coordinator's own last; within a site by
// distance from the coordinator, itself last, as every other reduction over the same nodes has
// them.
std::vector<ReduceMember> ReducePlacement::InRingOrder(std::vector<ReduceMember> members) const {
  std::ranges::sort(members, {}, [this](const ReduceMember& member) {
    return std::tuple(!peers_.IsPoor(member.node), peers_.SiteOrderOf(member.node),
                      Raw(member.node) - Raw(self_) - 1);
  });
  return members;
}

ReduceMember ReducePlacement::PicksHere(std::size_t count) const {
  std::vector<SourceIndex> picks = FirstReady(count);
  if (options_.fixed_order) picks = {wanted_ - 1};
  if (count == 0) picks.clear();
  std::erase_if(picks, [&](SourceIndex pick) {
    return !sources_.is_ready(pick) || sources_.HolderAt(pick, self_) == nullptr;
  });
  return {self_, std::move(picks)};
}

}  // namespace hoplite::planner
