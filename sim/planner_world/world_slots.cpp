// World: slots of a reduction, their streams and bytes.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

// A child may hear of its slot later than its parent does.
constexpr Duration kChildPatience = std::chrono::seconds(2);
constexpr Duration kTryAgain = std::chrono::milliseconds(5);
constexpr Tag kOutputOfSlot = 1;

}  // namespace

void World::Say(NodeIndex index, planner::NodeEvent event) {
  const VirtualNode& node = members_[index].node;
  if (node.connected()) Tell(planner::NodeSaid{node.id(), std::move(event)});
}

NodeIndex World::AddSlotCopy(const SlotRef& ref) {
  const NodeIndex copy = network_.AddCopy(ref.node);
  slot_refs_[copy] = ref;
  return copy;
}

VirtualSlot* World::SlotAt(NodeIndex copy) {
  const auto ref = slot_refs_.find(copy);
  if (ref == slot_refs_.end()) return nullptr;
  auto& slots = members_[ref->second.node].slots;
  const auto slot = slots.find(ref->second.slot);
  return slot == slots.end() ? nullptr : &slot->second;
}

VirtualSlot::Child* World::ChildAt(NodeIndex copy) {
  VirtualSlot* slot = SlotAt(copy);
  if (slot == nullptr) return nullptr;
  const auto child = slot->children.find(slot_refs_.at(copy).input);
  const bool present = child != slot->children.end() && child->second.copy == copy;
  return present ? &child->second : nullptr;
}

// True: the action concerned the reduction, and not the node's copy of the target.
bool World::HearReduce(NodeIndex index, const planner::NodeAction& action) {
  Member& member = members_[index];
  const ObjectId& object = ObjectOf(action);
  if (object != object_) {
    if (const auto* accepted = std::get_if<planner::CreateAccepted>(&action)) {
      member.sources[object] = accepted->version;
      Say(index, planner::CopyComplete{object, accepted->version});
    }
    const bool put = std::holds_alternative<planner::CreateAccepted>(action) ||
                     std::holds_alternative<planner::CreateRefused>(action);
    if (put) member.putting.erase(object);
    if (!put && reduction_) HearCoordinator(index, action);
    return true;
  }
  if (!reduction_) return false;
  if (const auto* assigned = std::get_if<planner::SlotAssigned>(&action)) {
    StartSlot(index, *assigned);
  } else if (const auto* feed = std::get_if<planner::SlotFeed>(&action)) {
    FeedSlot(index, *feed);
  } else if (const auto* dropped = std::get_if<planner::SlotDropped>(&action)) {
    const auto slot = member.slots.find(dropped->slot);
    if (slot != member.slots.end() && slot->second.version() <= dropped->version) {
      DropSlot(index, dropped->slot);
    }
  } else {
    return HearCoordinator(index, action);
  }
  return true;
}

void World::StartSlot(NodeIndex index, const planner::SlotAssigned& order) {
  Member& member = members_[index];
  const std::uint32_t number = order.order.slot;
  VirtualSlot fresh{.order = order};
  if (const auto known = member.slots.find(number); known != member.slots.end()) {
    if (known->second.version() >= order.version) return;
    if (options_.fault == planner::PlantedFault::kKeepsBytesOfOldSlots) {
      fresh.sum = known->second.sum;
      for (const auto& [input, child] : known->second.children) {
        const bool some = network_.Blocks(now_, child.copy, 0) > 0;
        if (some) fresh.contains.insert(child.feed.input_version);
      }
    }
    DropSlot(index, number);
  }
  fresh.FoldSources(member.sources);
  const std::uint32_t inputs = order.order.children + (fresh.failed ? 1 : 0);
  if (fresh.root()) {
    Effects effects;
    member.node.MakeTarget(order.version, layout_, ContentOf(order.version), effects);
    Do(index, effects);
    fresh.output = index;
    network_.Fold(now_, index, inputs, true, ContentOf(order.version));
  } else {
    fresh.output = AddSlotCopy({index, number, 0});
    network_.Fold(now_, fresh.output, inputs, false, kOutputOfSlot);
  }
  VirtualSlot& slot = member.slots[number] = std::move(fresh);
  if (slot.failed) {
    Say(index, planner::SlotFailed{.object = object_,
                                   .slot = number,
                                   .version = order.version,
                                   .code = ErrorCode::kNotFound,
                                   .message = "its source is not here"});
  } else if (inputs == 0) {
    SlotFinal(index, slot);
  }
}

void World::FeedSlot(NodeIndex index, const planner::SlotFeed& feed) {
  Member& member = members_[index];
  const auto slot = member.slots.find(feed.slot);
  if (slot == member.slots.end() || slot->second.version() != feed.version) return;
  if (slot->second.children.contains(feed.input)) return;  // repeated
  const NodeIndex copy = AddSlotCopy({index, feed.slot, feed.input});
  slot->second.children[feed.input] = {.feed = feed, .copy = copy};
  slot->second.contains.insert(feed.input_version);
  network_.AddInput(now_, slot->second.output, copy);
  After(options_.latency, [this, copy] { FetchSlot(copy); });
}

// A FETCH arrives where the child's output should be.
void World::FetchSlot(NodeIndex copy) {
  VirtualSlot::Child* child = ChildAt(copy);
  if (child == nullptr || child->drained || child->reported) return;
  const Member& source = members_[IndexOf(child->feed.source.id)];
  const auto slot = source.slots.find(child->feed.input);
  const bool there =
      slot != source.slots.end() && slot->second.version() == child->feed.input_version;
  if (!source.alive || !there) {
    After(options_.latency, [this, copy, dead = !source.alive] { SlotStreamEnded(copy, dead); });
    return;
  }
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if (!network_.WholeAt(copy, s)) network_.Open(now_, slot->second.output, copy, s);
  }
}

// The source died, or does not serve that attempt, because it does not know of it yet or was
// replaced.
void World::SlotStreamEnded(NodeIndex copy, bool dead) {
  VirtualSlot::Child* child = ChildAt(copy);
  if (child == nullptr || child->drained || child->reported) return;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if (const FlowId flow = network_.Feeding(copy, s); flow != kNoFlow) network_.Close(now_, flow);
  }
  child->failing_since = std::min(child->failing_since, now_);
  if (!dead && now_ - child->failing_since < kChildPatience) {
    After(kTryAgain, [this, copy] { FetchSlot(copy); });
    return;
  }
  child->reported = true;
  const SlotRef& ref = slot_refs_.at(copy);
  Say(ref.node,
      planner::SlotFailed{object_, ref.slot, SlotAt(copy)->version(), ref.input,
                          child->feed.input_version, ErrorCode::kPeerLost, "its stream ended"});
}

// The slot's streams end at both sides; the nodes that pull from it hear of that one latency later.
void World::StopStreams(const VirtualSlot& slot, bool dead) {
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    for (const auto& [input, child] : slot.children) {
      const FlowId flow = network_.Feeding(child.copy, s);
      if (flow != kNoFlow) network_.Close(now_, flow);
    }
    if (slot.root()) continue;  // the node's own copy serves the readers of the target
    for (const FlowId flow : network_.Outgoing(slot.output, s)) {
      network_.Break(now_, flow);
      const NodeIndex copy = network_.ReceiverOf(flow);
      After(options_.latency, [this, copy, dead] { SlotStreamEnded(copy, dead); });
    }
  }
}

void World::DropSlot(NodeIndex index, std::uint32_t number) {
  Member& member = members_[index];
  const VirtualSlot slot = std::move(member.slots.extract(number).mapped());
  StopStreams(slot, false);
  if (slot.root()) {
    Effects effects;
    member.node.DropTarget(slot.version(), effects);
    Do(index, effects);
  }
  network_.Unfold(now_, slot.output);
}

void World::KillSlots(NodeIndex index) {
  Member& member = members_[index];
  for (const auto& [number, slot] : member.slots) StopStreams(slot, true);
  member.slots.clear();
  member.sources.clear();
  member.putting.clear();
}

// True: this was a child's output that arrived, or a slot whose inputs are folded.
bool World::OnSlotWhole(const Network::Whole& whole) {
  const bool own_copy = whole.node < members_.size();
  if (own_copy && whole.flow != kNoFlow) return false;
  if (own_copy) {
    for (auto& [number, slot] : members_[whole.node].slots) {
      if (!slot.root()) continue;
      if (++slot.folded == layout_.stripe_count) SlotFinal(whole.node, slot);
      return true;
    }
    return false;
  }
  VirtualSlot* slot = SlotAt(whole.node);
  if (slot == nullptr) return true;
  const SlotRef ref = slot_refs_.at(whole.node);
  if (ref.input == 0) {
    const bool all = slot->output == whole.node && ++slot->folded == layout_.stripe_count;
    if (all) SlotFinal(ref.node, *slot);
    return true;
  }
  VirtualSlot::Child* child = ChildAt(whole.node);
  if (child == nullptr || ++child->whole < layout_.stripe_count) return true;
  child->drained = true;
  slot->sum += reduction_->witness.SumOf(child->feed.input_version);
  Say(ref.node, planner::SlotDrained{object_, ref.slot, slot->version(), ref.input,
                                     child->feed.input_version});
  return true;
}

void World::SlotFinal(NodeIndex index, VirtualSlot& slot) {
  slot.final = true;
  Fail(slot.BrokenContents());
  reduction_->witness.Final(slot.version(), slot.sum);
  if (slot.root()) Say(index, planner::ReduceCommit{object_, slot.version()});
}

void World::TargetCommitted(NodeIndex index, const Version& version) {
  Member& member = members_[index];
  const auto root = std::ranges::find_if(member.slots, [&](const auto& slot) {
    return slot.second.root() && slot.second.version() == version;
  });
  if (root == member.slots.end()) return;
  member.slots.erase(root);
  network_.Release(now_, index);
  Effects effects;
  member.node.TargetCommitted(effects);
  Do(index, effects);
}

}  // namespace hoplite::sim
