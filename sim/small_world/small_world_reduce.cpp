// SmallWorld: a reduction that makes the object: its coordinator, slots and sources.
#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "sim/kit/message_digest.h"
#include "sim/small_world/small_world.h"

namespace hoplite::sim {
namespace {

ObjectId SourceName(std::uint32_t i) { return ObjectId::FromName(fmt::format("source {}", i)); }

// The first and the last slot of a plan change places.
void TurnRound(protocol::NodeEvent& order) {
  auto* plan = std::get_if<protocol::ReduceOrders>(&order);
  if (plan == nullptr || plan->orders.size() < 2) return;
  protocol::SlotOrder& one = plan->orders.front().order;
  protocol::SlotOrder& other = plan->orders.back().order;
  std::swap(one.node, other.node);
  std::swap(one.inputs, other.inputs);
}

}  // namespace

void SmallReduction::AddTo(Digest& digest) const {
  digest.Add(history.value()).Add(drive_at).Add(ended).Add(coordinator.committed());
  for (const FoldStream& stream : streams) {
    digest.Add(stream.node).Add(stream.feed.slot).Add(stream.feed.version).Add(stream.feed.input);
    digest.Add(stream.feed.input_version);
    for (const std::uint32_t mark : stream.blocks) digest.Add(mark);
  }
  witness.AddTo(digest);
}

// The sources are there when the history begins, and the coordinator has not asked yet.
void SmallWorld::StartReduction() {
  ReduceOptions request;
  request.target = object_;
  request.dtype = DType::kUint64;
  for (std::uint32_t i = 0; i < options_.sources; ++i) {
    request.sources.push_back(SourceName(i));
    PutSource(i, i);
  }
  if (options_.wanted != 0) request.num_objects = options_.wanted;
  request.everyone_reads = options_.everyone_reads;
  const std::uint32_t coordinator = options_.nodes - 1;
  reduction_ = SmallReduction{
      .options = request,
      .node = coordinator,
      .coordinator = planner::ReduceCoordinator(
          request, members_[coordinator].node.id(), SmallReduction::kRequest,
          options_.two_trees ? planner::StripePlans::kTwoTrees : planner::StripePlans::kWhatPays),
      .history = {},
      .witness =
          ReduceWitness(request.num_objects.value_or(request.sources.size()), options_.stripes),
      .streams = {}};
  for (const ObjectId& source : request.sources) Say(coordinator, protocol::Subscribe{source});
  Say(coordinator, reduction_->coordinator.Request());
}

void SmallWorld::PutSource(std::uint32_t index, std::uint32_t source) {
  Say(index, protocol::Create{.object = SourceName(source), .layout = layout_});
  if (reduction_) return;
  while (!members_[index].to_directory.empty()) ToDirectory(index);
  while (!members_[index].to_node.empty()) ToNode(index);
  while (!members_[index].to_directory.empty()) ToDirectory(index);
}

void SmallWorld::Say(std::uint32_t index, protocol::NodeEvent event) {
  const VirtualNode& node = members_[index].node;
  if (node.connected()) Tell(index, planner::NodeSaid{node.id(), std::move(event)});
}

// --- what may happen next

// Steps that wait longer than anything else takes: a parent gives up a child that does not know its
// slot, and the coordinator gives up waiting for sources.
void SmallWorld::AddLastSteps(std::vector<Step>& steps) const {
  for (std::uint32_t i = 0; i < reduction_->streams.size(); ++i) {
    const FoldStream& stream = reduction_->streams[i];
    if (ChildOf(stream) == nullptr) steps.push_back({Step::Kind::kFoldLost, stream.node, i});
  }
  const bool waits = members_[reduction_->node].alive && !reduction_->ended;
  if (steps.empty() && waits) steps.push_back({Step::Kind::kGiveUp, reduction_->node});
}

// --- slots

// True: the action concerned the reduction, and not the node's copy of the target.
bool SmallWorld::HearReduce(std::uint32_t index, const protocol::NodeAction& action) {
  const ObjectId& object = ObjectOf(action);
  if (const auto* accepted = std::get_if<protocol::CreateAccepted>(&action)) {
    members_[index].sources[object] = accepted->version;
    Say(index, protocol::CopyComplete{object, accepted->version});
    return true;
  }
  if (!reduction_) return object != object_;
  if (const auto* assigned = std::get_if<protocol::SlotAssigned>(&action)) {
    StartSlot(index, *assigned);
  } else if (const auto* feed = std::get_if<protocol::SlotFeed>(&action)) {
    auto& slots = members_[index].slots;
    const auto slot = slots.find(feed->slot);
    if (slot != slots.end() && slot->second.state.OnFeed(*feed)) DriveSlot(index, slot->second);
  } else if (const auto* dropped = std::get_if<protocol::SlotDropped>(&action)) {
    const auto& slots = members_[index].slots;
    const auto slot = slots.find(dropped->slot);
    if (slot != slots.end() && slot->second.state.version() <= dropped->version) {
      DropSlot(index, dropped->slot);
    }
  } else {
    return HearCoordinator(index, action) || object != object_;
  }
  return true;
}

void SmallWorld::StartSlot(std::uint32_t index, const protocol::SlotAssigned& order) {
  Member& member = members_[index];
  const std::uint32_t number = order.order.slot;
  VirtualSlot fresh(order, fmt::format("n{}", index), now_);
  if (const auto known = member.slots.find(number); known != member.slots.end()) {
    if (known->second.state.version() >= order.version) return;
    if (options_.fault == PlantedFault::kKeepsBytesOfOldSlots) {
      std::ranges::transform(known->second.sums, fresh.sums, fresh.sums.begin(), std::plus());
      for (const FoldStream& stream : reduction_->streams) {
        const bool some = stream.node == index && stream.feed.slot == number &&
                          layout_.valid_bytes(stream.blocks) > 0;
        if (some) fresh.contains.insert(stream.feed.input_version);
      }
    }
    DropSlot(index, number);
  }
  VirtualSlot& slot = member.slots.emplace(number, std::move(fresh)).first->second;
  planner::SlotState::Effects effects;
  // A source that is not here will not come.
  for (const Time when : {now_, now_ + kMuchLater}) {
    slot.LookAtSources(member.sources, when, effects);
  }
  DriveSlot(index, slot, std::move(effects));
}

// Does what the slot answers now, and what it answered before. Its reports change nothing that is
// looked at here; there is always memory for it.
void SmallWorld::DriveSlot(std::uint32_t index, VirtualSlot& slot,
                           planner::SlotState::Effects effects) {
  planner::SlotState& state = slot.state;
  if (state.WantsOutput(now_)) {
    state.OnOutput(now_);
    slot.LookAtSources(members_[index].sources, now_, effects);
    if (slot.makes_a_part()) reduction_->made_in_parts.insert(state.version());
    if (state.root()) {
      Effects made;
      members_[index].node.MakeTarget(state.version(), layout_, ContentOf(state.version()),
                                      slot.makes(), made);
      Effect(index, made);
    }
  }
  const bool was_final = state.final();
  NoteFolded(index, slot);
  state.Plan(now_, {.made = slot.folded}, effects);
  for (const planner::SlotState::Effects::Pull& pull : effects.pull) {
    const protocol::SlotFeed& feed = state.children().at(pull.input).feed;
    slot.contains.insert(feed.input_version);
    reduction_->streams.push_back({.node = index, .feed = feed, .blocks = pull.from});
  }
  if (state.final() && !was_final) Fail(slot.BrokenContents());
  for (protocol::NodeEvent& event : effects.say) {
    if (!std::holds_alternative<protocol::SlotProgress>(event)) Say(index, std::move(event));
  }
}

void SmallWorld::DropSlot(std::uint32_t index, std::uint32_t number) {
  Member& member = members_[index];
  const VirtualSlot slot = std::move(member.slots.extract(number).mapped());
  std::erase_if(reduction_->streams, [&](const FoldStream& stream) {
    return stream.node == index && stream.feed.slot == number;
  });
  if (!slot.state.root()) return;
  Effects effects;
  member.node.DropTarget(slot.state.version(), effects);
  Effect(index, effects);
}

void SmallWorld::TargetCommitted(std::uint32_t index, const Version& version) {
  Member& member = members_[index];
  const auto root = std::ranges::find_if(member.slots, [&](const auto& slot) {
    return slot.second.state.root() && slot.second.state.version() == version;
  });
  if (root == member.slots.end()) return;
  planner::SlotState::Effects sealing;
  root->second.state.OnCommitted(sealing);
  if (!root->second.state.committed()) return;
  member.slots.erase(root);
  Effects effects;
  member.node.TargetCommitted(effects);
  Effect(index, effects);
}

// --- the coordinator

// True: the action was meant for the coordinator of the reduction, or for a root.
bool SmallWorld::HearCoordinator(std::uint32_t index, const protocol::NodeAction& action) {
  if (const auto* committed = std::get_if<protocol::ReduceCommitted>(&action)) {
    TargetCommitted(index, committed->version);
    if (index != reduction_->node || reduction_->ended) return true;
  }
  std::vector<protocol::NodeEvent> orders;
  if (!reduction_->coordinator.Hear(action, now_, orders)) return false;
  if (pairs_) pairs_->CoordinatorHears(action, now_);
  SayOrders(std::move(orders));
  AddTo(reduction_->history.Add(now_), action);
  Drive();
  return true;
}

void SmallWorld::Drive() {
  SmallReduction& reduction = *reduction_;
  reduction.drive_at = kNever;
  if (!members_[reduction.node].alive || reduction.ended) return;
  std::vector<protocol::NodeEvent> orders;
  reduction.drive_at = reduction.coordinator.Plan(now_, orders);
  reduction.history.Add(now_);
  SayOrders(std::move(orders));
  if (const auto outcome = reduction.coordinator.Outcome()) {
    EndReduce(*outcome ? nullptr : &outcome->error());
  }
}

void SmallWorld::SayOrders(std::vector<protocol::NodeEvent> orders) {
  const std::uint32_t index = reduction_->node;
  if (options_.fault == PlantedFault::kPlansThemBeside) {
    for (protocol::NodeEvent& order : orders) TurnRound(order);
  }
  if (pairs_) Fail(pairs_->CheckPlan(orders, members_[index].node.id(), now_));
  for (protocol::NodeEvent& order : orders) Say(index, std::move(order));
}

void SmallWorld::EndReduce(const Error* why) {
  reduction_->ended = true;
  reduction_->drive_at = kNever;
  if (auto close = reduction_->coordinator.Close(why)) Say(reduction_->node, std::move(*close));
  for (const ObjectId& source : reduction_->options.sources) {
    Say(reduction_->node, protocol::Unsubscribe{source});
  }
}

void SmallWorld::GiveUpReduction() {
  if (AvailableSources() >= WantedSources() && MayFold()) {
    Fail("P9: the reduction waited in vain although its sources are there");
  }
  const Error late(ErrorCode::kTimeout, "simulated");
  EndReduce(&late);
}

std::size_t SmallWorld::AvailableSources() const {
  std::set<ObjectId> there;
  for (const Member& member : members_) {
    for (const auto& [source, version] : member.sources) there.insert(source);
  }
  return there.size();
}

std::size_t SmallWorld::WantedSources() const {
  return reduction_->options.num_objects.value_or(reduction_->options.sources.size());
}

// --- faults

// The first source that is nowhere, if any.
std::optional<std::uint32_t> SmallWorld::LostSource() const {
  for (std::uint32_t i = 0; i < options_.sources; ++i) {
    const bool there = std::ranges::any_of(
        members_, [&](const Member& member) { return member.sources.contains(SourceName(i)); });
    if (!there) return i;
  }
  return std::nullopt;
}

void SmallWorld::KillSlots(std::uint32_t index) {
  members_[index].slots.clear();
  members_[index].sources.clear();
  std::erase_if(reduction_->streams,
                [&](const FoldStream& stream) { return stream.node == index; });
  if (index == reduction_->node) reduction_->drive_at = kNever;
}

// Adds what belongs to the reduction, before the end of the inventory.
void SmallWorld::AddInventory(std::uint32_t index, std::vector<protocol::NodeEvent>& events) {
  const Member& member = members_[index];
  std::vector<protocol::NodeEvent> more;
  for (const auto& [source, version] : member.sources) {
    more.emplace_back(protocol::Held{.object = source,
                                     .version = version,
                                     .layout = layout_,
                                     .metadata = "",
                                     .marks = layout_.full_marks(),
                                     .complete = true,
                                     .primary = true});
  }
  for (const auto& [number, slot] : member.slots) {
    std::ranges::move(slot.state.Inventory(), std::back_inserter(more));
  }
  if (index == reduction_->node && !reduction_->ended) {
    reduction_->coordinator.ForgetHolders();
    reduction_->history.Add(index);
    for (const ObjectId& source : reduction_->options.sources) {
      more.emplace_back(protocol::Subscribe{source});
    }
    more.emplace_back(reduction_->coordinator.Request());
  }
  events.insert(events.end() - 1, more.begin(), more.end());
}

// --- properties

void SmallWorld::CheckReduce(const std::vector<planner::Action>& actions) {
  ReduceWitness& witness = reduction_->witness;
  if (witness.committed()) {
    const auto view = directory_.state().Find(object_);
    const bool there = view && std::ranges::any_of(view->holders, &protocol::HolderView::complete);
    if (!there) witness.TargetLost();
  }
  Fail(witness.Check(actions));
}

void SmallWorld::CheckReader(const VirtualNode& node) {
  if (node.got() == 0 || reduction_->witness.was_committed(node.got_version())) return;
  Fail(fmt::format("P7: n{} returned a version that was not committed", Raw(node.id()) - 1));
}

std::string SmallWorld::CheckReduceAtRest() const {
  const bool alive = members_[reduction_->node].alive;
  if (alive && !reduction_->ended) return "P9: the reduction has no end";
  for (const Member& member : members_) {
    if (!member.alive || member.slots.empty()) continue;
    return fmt::format("P10: n{} still executes slot {}", Raw(member.node.id()) - 1,
                       member.slots.begin()->first);
  }
  const auto view = directory_.state().Find(object_);
  if (view && !view->slots.empty()) return "P10: the directory keeps slots of what has ended";
  return {};
}

}  // namespace hoplite::sim
