// SmallWorld: how slots fold the outputs of their children, block by block.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/block_order.h"
#include "sim/small_world/small_world.h"

namespace hoplite::sim {

void SmallWorld::AddFoldSteps(std::vector<Step>& steps) const {
  for (std::uint32_t i = 0; i < reduction_->streams.size(); ++i) {
    const FoldStream& stream = reduction_->streams[i];
    const auto add = [&](Step::Kind kind) { steps.push_back({kind, stream.node, i}); };
    const VirtualSlot* child = ChildOf(stream);
    if (cuts_.Has(stream.node, IndexOf(stream.feed.source.id))) {
      add(Step::Kind::kFoldLost);
    } else if (child == nullptr) {
      if (!members_[IndexOf(stream.feed.source.id)].alive) add(Step::Kind::kFoldLost);
    } else if (EndsNow(stream, *child) != 0) {
      add(Step::Kind::kFoldEnd);
    } else if (FoldsNext(stream, *child)) {
      add(Step::Kind::kFoldBlock);
    }
  }
}

std::optional<std::uint32_t> SmallWorld::FoldsNext(const FoldStream& stream,
                                                   const VirtualSlot& child) const {
  const StripeMarks marks = OutputOf(IndexOf(stream.feed.source.id), child);
  return NextStripe(layout_, stream.feed.stripes, stream.blocks, marks, false);
}

// A stripe ends when it is sent and final, whatever becomes of the others.
StripeMask SmallWorld::EndsNow(const FoldStream& stream, const VirtualSlot& child) const {
  const auto& parent = members_[stream.node].slots.at(stream.feed.slot).state;
  const StripeMask ended = parent.children().at(stream.feed.input).end_seen;
  StripeMask ends = 0;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const bool sent = stream.blocks[s] == layout_.stripe_block_count(s);
    if (sent) ends |= StripeMask{1} << s;
  }
  return ends & child.folded & stream.feed.stripes & ~ended;
}

// The slot of the stream's child, if it is there and can serve the stream; or null.
const VirtualSlot* SmallWorld::ChildOf(const FoldStream& stream) const {
  const auto& slots = members_[IndexOf(stream.feed.source.id)].slots;
  const auto slot = slots.find(stream.feed.input);
  const bool there =
      slot != slots.end() && slot->second.state.version() == stream.feed.input_version;
  return there ? &slot->second : nullptr;
}

// How many blocks of its output are made: in each stripe as many as all its inputs have.
StripeMarks SmallWorld::OutputOf(std::uint32_t index, const VirtualSlot& slot) const {
  const planner::SlotState& state = slot.state;
  StripeMarks made = layout_.empty_marks();
  if (state.failed() || state.children().size() < state.order().order.children) return made;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if ((slot.makes() >> s & 1) != 0) made[s] = layout_.stripe_block_count(s);
  }
  for (const auto& [input, child] : state.children()) {
    const auto stream = std::ranges::find_if(reduction_->streams, [&](const FoldStream& one) {
      return one.node == index && one.feed.slot == state.number() && one.feed.input == input;
    });
    const bool pulls = stream != reduction_->streams.end();
    if (!pulls && state.drained(child)) continue;
    for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
      const bool feeds = (child.feed.stripes >> s & 1) != 0;
      // Without a stream it was reported as lost.
      if (feeds) made[s] = std::min(made[s], pulls ? stream->blocks[s] : 0);
    }
  }
  return made;
}

// Stripes that are made of final inputs are final.
void SmallWorld::NoteFolded(std::uint32_t index, VirtualSlot& slot) {
  const planner::SlotState& state = slot.state;
  const StripeMarks made = OutputOf(index, slot);
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const StripeMask stripe = StripeMask{1} << s;
    const bool news = (slot.makes() & ~slot.folded & stripe) != 0;
    if (!news || made[s] < layout_.stripe_block_count(s)) continue;
    const bool ended = std::ranges::all_of(state.children(), [&](const auto& child) {
      return (child.second.feed.stripes & ~child.second.end_seen & stripe) == 0;
    });
    if (!ended || state.children().size() < state.order().order.children) continue;
    slot.folded |= stripe;
    reduction_->witness.Final(state.version(), s, slot.sums[s]);
  }
}

void SmallWorld::GrowTarget(std::uint32_t index, const VirtualSlot& slot) {
  VirtualNode& node = members_[index].node;
  // The target may be recalled already while the order that drops its root is still on its way.
  const bool makes =
      slot.state.root() && node.copy() && node.copy()->version == slot.state.version();
  if (!makes) return;
  const StripeMarks made = OutputOf(index, slot);
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if (made[s] <= node.copy()->marks[s]) continue;
    Fail(std::string(node.Received(s, made[s], node.copy()->content[s])));
  }
  SayFull(index);
}

// Who lacks nothing but END says so at once (R21).
void SmallWorld::SayFull(std::uint32_t index) {
  const VirtualNode& node = members_[index].node;
  const auto& copy = node.copy();
  if (!copy || copy->complete || !layout_.complete(copy->marks)) return;
  if (!reduction_->made_in_parts.contains(copy->version)) return;
  Say(index, node.ProgressReport(0));
}

void SmallWorld::FoldBlock(std::size_t index) {
  FoldStream& stream = reduction_->streams[index];
  stream.blocks[*FoldsNext(stream, *ChildOf(stream))] += options_.stride;
  GrowTarget(stream.node, members_[stream.node].slots.at(stream.feed.slot));
}

void SmallWorld::FoldEnd(std::size_t index) {
  const FoldStream stream = reduction_->streams[index];
  VirtualSlot& slot = members_[stream.node].slots.at(stream.feed.slot);
  const StripeMask ended = EndsNow(stream, *ChildOf(stream));
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if ((ended >> s & 1) == 0) continue;
    slot.sums[s] += reduction_->witness.SumOf(stream.feed.input_version, s);
  }
  slot.state.OnStripesEnded(stream.feed.input, ended);
  planner::SlotState::Effects effects;
  if (slot.state.drained(slot.state.children().at(stream.feed.input))) {
    TakeFold(index);
    slot.state.OnStreamsEnded(stream.feed.input, {}, layout_.full_marks(), now_, effects);
  }
  DriveSlot(stream.node, slot, std::move(effects));
}

// It asks again and again; nothing else happens until its patience ends.
void SmallWorld::FoldLost(std::size_t index) {
  using protocol::Failure;
  const FoldStream stream = TakeFold(index);
  VirtualSlot& slot = members_[stream.node].slots.at(stream.feed.slot);
  const std::uint32_t source = IndexOf(stream.feed.source.id);
  const bool dead = !members_[source].alive || cuts_.Has(stream.node, source);
  const std::string text =
      dead ? fmt::format("cannot connect to n{}:1", source) : "its stream ended";
  const Time later = now_ + kMuchLater;
  const auto ends = [&](Failure why, Time when, planner::SlotState::Effects& effects) {
    slot.state.OnStreamsEnded(stream.feed.input, {why, text}, stream.blocks, when, effects);
  };
  planner::SlotState::Effects effects;
  ends(dead ? Failure::kBroken : Failure::kUnknown, now_, effects);
  slot.state.Plan(later, {}, effects);
  effects.pull.clear();
  ends(dead ? Failure::kUnreachable : Failure::kUnknown, later, effects);
  DriveSlot(stream.node, slot, std::move(effects));
}

FoldStream SmallWorld::TakeFold(std::size_t index) {
  auto& streams = reduction_->streams;
  FoldStream stream = streams[index];
  streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(index));
  return stream;
}

}  // namespace hoplite::sim
