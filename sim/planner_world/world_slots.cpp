// World: slots of a reduction, their streams and bytes.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

constexpr Tag kOutputOfSlot = 1;

}  // namespace

void World::Say(NodeIndex index, protocol::NodeEvent event) {
  const VirtualNode& node = members_[index].node;
  if (node.connected()) Tell(planner::NodeSaid{node.id(), std::move(event)});
}

NodeIndex World::AddSlotCopy(const SlotRef& ref) {
  const NodeIndex copy = network_.AddCopy(ref.node);
  slot_refs_[copy] = ref;
  return copy;
}

VirtualSlot* World::SlotOf(NodeIndex index, std::uint32_t number) {
  auto& slots = members_[index].slots;
  const auto slot = slots.find(number);
  return slot == slots.end() ? nullptr : &slot->second;
}

VirtualSlot* World::SlotAt(NodeIndex copy) {
  const auto ref = slot_refs_.find(copy);
  if (ref == slot_refs_.end()) return nullptr;
  VirtualSlot* slot = SlotOf(ref->second.node, ref->second.slot);
  if (slot == nullptr) return nullptr;
  const std::uint32_t input = ref->second.input;
  if (input == 0) return slot->output == copy ? slot : nullptr;
  const auto pulled = slot->inputs.find(input);
  return pulled != slot->inputs.end() && pulled->second == copy ? slot : nullptr;
}

// True: the action concerned the reduction, and not the node's copy of the target.
bool World::HearReduce(NodeIndex index, const protocol::NodeAction& action) {
  Member& member = members_[index];
  const ObjectId& object = ObjectOf(action);
  if (object != object_) {
    if (const auto* accepted = std::get_if<protocol::CreateAccepted>(&action)) {
      member.sources[object] = accepted->version;
      Say(index, protocol::CopyComplete{object, accepted->version});
    }
    const bool put = std::holds_alternative<protocol::CreateAccepted>(action) ||
                     std::holds_alternative<protocol::CreateRefused>(action);
    if (put) member.putting.erase(object);
    if (!put && reduction_) HearCoordinator(index, action);
    return true;
  }
  if (!reduction_) return false;
  if (const auto* assigned = std::get_if<protocol::SlotAssigned>(&action)) {
    StartSlot(index, *assigned);
  } else if (const auto* feed = std::get_if<protocol::SlotFeed>(&action)) {
    VirtualSlot* slot = SlotOf(index, feed->slot);
    if (slot != nullptr && slot->state.OnFeed(*feed)) DriveSlot(index, feed->slot);
  } else if (const auto* dropped = std::get_if<protocol::SlotDropped>(&action)) {
    const auto slot = member.slots.find(dropped->slot);
    if (slot != member.slots.end() && slot->second.state.version() <= dropped->version) {
      DropSlot(index, dropped->slot);
    }
  } else {
    return HearCoordinator(index, action);
  }
  return true;
}

void World::StartSlot(NodeIndex index, const protocol::SlotAssigned& order) {
  Member& member = members_[index];
  const std::uint32_t number = order.order.slot;
  VirtualSlot fresh(order, fmt::format("n{}", index), now_);
  if (const auto known = member.slots.find(number); known != member.slots.end()) {
    if (known->second.state.version() >= order.version) return;
    if (options_.fault == PlantedFault::kKeepsBytesOfOldSlots) {
      std::ranges::transform(known->second.sums, fresh.sums, fresh.sums.begin(), std::plus());
      for (const auto& [input, copy] : known->second.inputs) {
        const Version version = known->second.state.children().at(input).feed.input_version;
        if (network_.Blocks(now_, copy, 0) > 0) fresh.contains.insert(version);
      }
    }
    DropSlot(index, number);
  }
  member.slots.emplace(number, std::move(fresh));
  DriveSlot(index, number);
}

// Tells a slot how things are, and does what it answers, as well as what it answered before.
void World::DriveSlot(NodeIndex index, std::uint32_t number, planner::SlotState::Effects effects) {
  VirtualSlot* slot = SlotOf(index, number);
  if (slot == nullptr) return;
  planner::SlotState& state = slot->state;
  slot->LookAtSources(members_[index].sources, now_, effects);
  const bool poor = index + options_.reduce->poor_nodes >= options_.nodes;
  if (state.WantsOutput(now_) && poor && !state.serves_source()) {
    state.OnNoMemory(false, now_, effects);
  } else if (state.WantsOutput(now_)) {
    BeginFold(index, *slot);
    slot->LookAtSources(members_[index].sources, now_, effects);
  }
  const bool was_final = state.final();
  const planner::FoldProgress folded{.made = slot->folded};
  const Time next = state.Plan(now_, folded, effects);
  if (state.final() && !was_final) {
    Fail(slot->BrokenContents());
  }
  for (protocol::NodeEvent& event : effects.say) {
    if (!std::holds_alternative<protocol::SlotProgress>(event)) Say(index, std::move(event));
  }
  for (const auto& pull : effects.pull) PullChild(index, *slot, pull);
  if (next == kNever || slot->looks_at == next) return;
  slot->looks_at = next;
  At(next, [this, index, number] { DriveSlot(index, number); });
}

void World::BeginFold(NodeIndex index, VirtualSlot& slot) {
  const protocol::SlotAssigned& order = slot.state.order();
  const std::uint32_t inputs = order.order.children;
  const StripeMask makes = slot.makes();
  if (slot.state.root()) {
    const bool in_part = slot.makes_a_part();
    if (in_part) made_in_parts_.insert(order.version);
    Effects effects;
    VirtualNode& node = members_[index].node;
    node.MakeTarget(order.version, layout_, ContentOf(order.version), makes, effects);
    Do(index, effects);
    slot.output = index;
    // What END says of a part is said by the commit, and not by the part itself.
    network_.Fold(now_, index, inputs, {makes, !in_part, ContentOf(order.version)});
  } else {
    slot.output = AddSlotCopy({index, slot.state.number(), 0});
    network_.Fold(now_, *slot.output, inputs, {makes, false, kOutputOfSlot});
  }
  for (std::uint32_t s = 0; inputs == 0 && s < layout_.stripe_count; ++s) {
    if ((makes >> s & 1) != 0) StripeFolded(index, slot, s);
  }
  slot.state.OnOutput(now_);
}

// All that it contains in this stripe is final, and so is the stripe itself: others may hear its END
// while its other stripes wait for theirs.
void World::StripeFolded(NodeIndex index, VirtualSlot& slot, std::uint32_t stripe) {
  slot.folded |= StripeMask{1} << stripe;
  reduction_->witness.Final(slot.state.version(), stripe, slot.sums[stripe]);
  if (slot.makes_a_part()) SayFull(index);
}

void World::PullChild(NodeIndex index, VirtualSlot& slot,
                      const planner::SlotState::Effects::Pull& pull) {
  if (!slot.output) return;  // it was recalled
  const protocol::SlotFeed& feed = slot.state.children().at(pull.input).feed;
  if (!slot.inputs.contains(pull.input)) {
    const NodeIndex copy = AddSlotCopy({index, slot.state.number(), pull.input});
    slot.inputs[pull.input] = copy;
    slot.contains.insert(feed.input_version);
    network_.AddInput(now_, *slot.output, copy, feed.stripes);
  }
  After(options_.latency, [this, copy = slot.inputs[pull.input], stripes = pull.stripes] {
    FetchSlot(copy, stripes);
  });
}

// A FETCH arrives where the child's output should be.
void World::FetchSlot(NodeIndex copy, StripeMask stripes) {
  const VirtualSlot* parent = SlotAt(copy);
  if (parent == nullptr) return;
  const protocol::SlotFeed& feed = parent->state.children().at(slot_refs_.at(copy).input).feed;
  const NodeIndex source = IndexOf(feed.source.id);
  const VirtualSlot* child = SlotOf(source, feed.input);
  std::optional<protocol::Failure> refusal;
  if (!members_[source].alive || cuts_.Has(slot_refs_.at(copy).node, source)) {
    refusal = protocol::Failure::kUnreachable;
  } else if (child == nullptr || child->state.version() != feed.input_version) {
    refusal = protocol::Failure::kUnknown;
  } else if (!child->output) {
    refusal = protocol::Failure::kNotAhead;
  }
  if (refusal) {
    After(options_.latency, [this, copy, why = *refusal] { SlotStreamsEnded(copy, why); });
    return;
  }
  std::vector<std::uint32_t> lacks;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const bool asked = (stripes >> s & 1) != 0;
    if (asked && !network_.WholeAt(copy, s)) lacks.push_back(s);
  }
  const auto together = static_cast<std::uint32_t>(lacks.size());
  for (const std::uint32_t s : lacks) network_.Open(now_, *child->output, copy, s, together);
}

// What is under way on the others is not taken any more.
void World::SlotStreamsEnded(NodeIndex copy, protocol::Failure why) {
  VirtualSlot* slot = SlotAt(copy);
  if (slot == nullptr) return;
  StripeMarks folded(layout_.stripe_count);
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if (const FlowId flow = network_.Feeding(copy, s); flow != kNoFlow) network_.Close(now_, flow);
    folded[s] = network_.Blocks(now_, copy, s);
  }
  const SlotRef ref = slot_refs_.at(copy);
  planner::SlotState::Effects effects;
  const NodeIndex source = IndexOf(slot->state.children().at(ref.input).feed.source.id);
  const std::string text = why == protocol::Failure::kUnreachable
                               ? fmt::format("cannot connect to n{}:1", source)
                               : "its stream ended";
  slot->state.OnStreamsEnded(ref.input, {why, text}, folded, now_, effects);
  DriveSlot(ref.node, ref.slot, std::move(effects));
}

// The slot's streams end at both sides; the nodes that pull from it hear of that one latency later.
void World::StopStreams(const VirtualSlot& slot, protocol::Failure why) {
  if (!slot.output) return;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    for (const auto& [input, copy] : slot.inputs) {
      const FlowId flow = network_.Feeding(copy, s);
      if (flow != kNoFlow) network_.Close(now_, flow);
    }
    if (slot.state.root()) continue;  // the node's own copy serves the readers of the target
    for (const FlowId flow : network_.Outgoing(*slot.output, s)) {
      network_.Break(now_, flow);
      const NodeIndex copy = network_.ReceiverOf(flow);
      After(options_.latency, [this, copy, why] { SlotStreamsEnded(copy, why); });
    }
  }
}

void World::BreakSlotStreams(NodeIndex receiver, NodeIndex source) {
  for (const auto& [number, slot] : members_[source].slots) {
    if (slot.state.root() || !slot.output) continue;
    std::set<NodeIndex> cut;
    for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
      for (const FlowId flow : network_.Outgoing(*slot.output, s)) {
        const NodeIndex copy = network_.ReceiverOf(flow);
        if (slot_refs_.at(copy).node != receiver) continue;
        network_.Break(now_, flow);
        cut.insert(copy);
      }
    }
    for (const NodeIndex copy : cut) {
      After(options_.latency, [=, this] { SlotStreamsEnded(copy, protocol::Failure::kBroken); });
    }
  }
}

// What it made of the target's parts has gone with its copy.
void World::UnfoldParts(NodeIndex index) {
  for (auto& [number, slot] : members_[index].slots) {
    if (!slot.makes_a_part() || !slot.output) continue;
    slot.output.reset();
    network_.Unfold(now_, index);
  }
}

void World::DropSlot(NodeIndex index, std::uint32_t number) {
  Member& member = members_[index];
  const VirtualSlot slot = std::move(member.slots.extract(number).mapped());
  StopStreams(slot, protocol::Failure::kNone);
  if (slot.state.root()) {
    Effects effects;
    member.node.DropTarget(slot.state.version(), effects);
    Do(index, effects);
  }
  if (slot.output) network_.Unfold(now_, *slot.output);
}

void World::KillSlots(NodeIndex index) {
  Member& member = members_[index];
  for (const auto& [number, slot] : member.slots) StopStreams(slot, protocol::Failure::kBroken);
  member.slots.clear();
  member.sources.clear();
  member.putting.clear();
}

// True: this was a child's output that arrived, or a slot whose inputs are folded.
bool World::OnSlotWhole(const Network::Whole& whole) {
  const bool own_copy = whole.node < members_.size();
  if (own_copy && whole.flow != kNoFlow) return false;
  if (own_copy) {
    const auto root = RootAt(whole.node);
    if (root == members_[whole.node].slots.end()) return false;
    StripeFolded(whole.node, root->second, whole.stripe);
    DriveSlot(whole.node, root->first);
    return true;
  }
  VirtualSlot* slot = SlotAt(whole.node);
  if (slot == nullptr) return true;
  const SlotRef ref = slot_refs_.at(whole.node);
  planner::SlotState::Effects effects;
  if (ref.input == 0) {
    StripeFolded(ref.node, *slot, whole.stripe);
  } else {
    OnStripeWhole(*slot, ref.input, whole.stripe, effects);
  }
  DriveSlot(ref.node, ref.slot, std::move(effects));
  return true;
}

// Of a child's output.
void World::OnStripeWhole(VirtualSlot& slot, std::uint32_t input, std::uint32_t stripe,
                          planner::SlotState::Effects& effects) {
  planner::SlotState& state = slot.state;
  if (options_.fault == PlantedFault::kEndsBySeal) {
    const protocol::SlotFeed& feed = state.children().at(input).feed;
    const VirtualSlot* child = SlotOf(IndexOf(feed.source.id), feed.input);
    if (child == nullptr || !child->state.final()) return;
  }
  state.OnStripesEnded(input, StripeMask{1} << stripe);
  const planner::SlotState::Child& child = state.children().at(input);
  slot.sums[stripe] += reduction_->witness.SumOf(child.feed.input_version, stripe);
  if (!state.drained(child)) return;
  state.OnStreamsEnded(input, {}, layout_.full_marks(), now_, effects);
}

std::map<std::uint32_t, VirtualSlot>::iterator World::RootAt(NodeIndex index) {
  return std::ranges::find_if(members_[index].slots, [&](const auto& slot) {
    return slot.second.state.root() && slot.second.output == index;
  });
}

void World::TargetCommitted(NodeIndex index, const Version& version) {
  Member& member = members_[index];
  const auto root = RootAt(index);
  if (root == member.slots.end() || root->second.state.version() != version) return;
  planner::SlotState::Effects sealing;
  root->second.state.OnCommitted(sealing);
  if (!root->second.state.committed()) return;
  member.slots.erase(root);
  network_.Release(now_, index);
  Effects effects;
  member.node.TargetCommitted(effects);
  Do(index, effects);
}

}  // namespace hoplite::sim
