// Streams whose stripes go in turns: of the blocks that a stream still owes, the lowest that its
// source has (R19), one after the other.
#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/planner_world/network.h"

namespace hoplite::sim {

double Network::TurnEnd(const Flow& flow) const {
  const double blocks = std::floor(flow.sent / layout_.block_bytes) + 1;
  return std::min(blocks * layout_.block_bytes, stripe_bytes_[flow.stripe]);
}

// The last block of a stripe is there when its end is.
bool Network::HasBlock(Time now, const Flow& flow) const {
  const Inbound& source = At(flow.source, flow.stripe);
  if (source.whole) return true;
  const double end = TurnEnd(flow);
  return end < stripe_bytes_[flow.stripe] && end <= Valid(now, source, flow.stripe) + slack_;
}

void Network::JoinStream(Time now, FlowId id) {
  if (!in_turns()) return;
  Stream& stream = StreamOf(flows_[id]);
  stream.flows.push_back(id);
  GiveTurn(now, stream);
}

void Network::LeaveStream(Time now, FlowId id) {
  if (!in_turns()) return;
  Stream& stream = StreamOf(flows_[id]);
  std::erase(stream.flows, id);
  flows_[id].has_turn = false;
  if (stream.turn != id) return;
  stream.turn = kNoFlow;
  GiveTurn(now, stream);
}

void Network::GiveTurn(Time now, Stream& stream) {
  if (stream.turn != kNoFlow) return;
  std::optional<std::uint64_t> lowest;
  for (const FlowId id : stream.flows) {
    const Flow& flow = flows_[id];
    if (!HasBlock(now, flow)) continue;
    const auto index = static_cast<std::uint32_t>(flow.sent / layout_.block_bytes);
    const std::uint64_t block = layout_.block_at(flow.stripe, index);
    if (lowest && *lowest <= block) continue;
    lowest = block;
    stream.turn = id;
  }
  if (!lowest) return;
  Flow& flow = flows_[stream.turn];
  flow.has_turn = true;
  flow.turn_end = TurnEnd(flow);
  flow.at = now;
  Touch(UpLink(flow));
}

void Network::EndTurn(Time now, FlowId id) {
  Flow& flow = flows_[id];
  if (flow.turn_end >= stripe_bytes_[flow.stripe]) {
    StopSending(now, id);
    queue_.Push(now + latency_, {Kind::kWholeArrives, id});
    return;
  }
  NoteRate(now, flow, 0);
  flow.sent = flow.turn_end;
  flow.at = now;
  flow.rate = 0;
  flow.has_turn = false;
  queue_.Push(now + latency_, {Kind::kBlockArrives, id, flow.sent});
  Stream& stream = StreamOf(flow);
  stream.turn = kNoFlow;
  Touch(UpLink(flow));
  GiveTurn(now, stream);
}

void Network::BlockArrives(Time now, const Event& event) {
  const Flow& flow = flows_[event.flow];
  RateArrives(now, flow, 0);
  At(flow.receiver, flow.stripe).bytes = event.rate;
  InputChanged(now, flow.receiver, flow.stripe);
  Offer(now, flow.receiver, flow.stripe);
}

void Network::Offer(Time now, NodeIndex copy, std::uint32_t stripe) {
  if (!in_turns()) return;
  for (const FlowId id : At(copy, stripe).outgoing) {
    if (flows_[id].sending) GiveTurn(now, StreamOf(flows_[id]));
  }
}

// As many whole blocks as its slowest input has.
void Network::RefoldBlocks(Time now, NodeIndex copy, std::uint32_t stripe) {
  std::uint32_t least = layout_.stripe_block_count(stripe);
  for (const NodeIndex input : foldings_[copy].In(stripe)) {
    least = std::min(least, Blocks(now, input, stripe));
  }
  Inbound& inbound = At(copy, stripe);
  const double bytes = static_cast<double>(least) * layout_.block_bytes;
  if (bytes <= inbound.bytes) return;
  inbound.bytes = bytes;
  inbound.at = now;
  Offer(now, copy, stripe);
}

}  // namespace hoplite::sim
