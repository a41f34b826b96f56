// VirtualNode: its copy, and streams at both ends.
#include <utility>

#include "sim/planner_world/virtual_node.h"

namespace hoplite::sim {

using protocol::Outcome;

std::string_view VirtualNode::Received(std::uint32_t stripe, std::uint32_t blocks,
                                       Content content) {
  if (!copy_) return "P3: bytes arrive for a copy that is gone";
  if (blocks < copy_->marks[stripe]) return "P3: a watermark shrank";
  if (copy_->marks[stripe] > 0 && copy_->content[stripe] != content) {
    return "P3: bytes of two versions are combined";
  }
  copy_->marks[stripe] = blocks;
  copy_->content[stripe] = content;
  return {};
}

void VirtualNode::Produced(Effects& out) {
  if (copy_ && copy_->produces != 0) Complete(out);
}

void VirtualNode::StripeWhole(GrantId grant, std::uint32_t stripe, Effects& out) {
  const auto stream = streams_.find(grant);
  if (stream == streams_.end()) return;
  stream->second.missing &= ~(StripeMask{1} << stripe);
  if (stream->second.missing != 0) return;
  if (EndStream(grant, Outcome::kDone, protocol::Failure::kNone, out)) Complete(out);
}

void VirtualNode::StreamFailed(GrantId grant, protocol::Failure why, Effects& out) {
  if (EndStream(grant, Outcome::kFailed, why, out)) Complete(out);
}

void VirtualNode::BytesWhole(Effects& out) {
  if (flight_ && StepFlight(out)) Complete(out);
}

void VirtualNode::WasLost(Effects& out) {
  if (!flight_) return;
  planner::FlightState::Effects decided;
  flight_->OnLost(decided);
  Carry(decided, out);
}

protocol::Failure VirtualNode::Answer(const Fetch& fetch) const {
  if (!copy_ || copy_->version != fetch.version) return protocol::Failure::kUnknown;
  if (copy_->complete) return protocol::Failure::kNone;
  const bool equal_will_do = fetch.equality_ok && life_ && fetch.grant.incarnation >= *life_;
  for (std::uint32_t s = 0; s < copy_->layout.stripe_count; ++s) {
    if (((fetch.stripes & ~copy_->produces) >> s & 1) == 0) continue;
    const std::uint32_t ahead = copy_->marks[s];
    if (ahead > fetch.marks[s] || (ahead == fetch.marks[s] && equal_will_do)) continue;
    return protocol::Failure::kNotAhead;
  }
  return protocol::Failure::kNone;
}

protocol::Progress VirtualNode::ProgressReport(std::uint64_t bytes_per_second) const {
  return {.object = object_,
          .version = copy_->version,
          .marks = copy_->marks,
          .bytes_per_second = bytes_per_second};
}

StripeMask VirtualNode::Missing(StripeMask among) const {
  StripeMask missing = 0;
  for (std::uint32_t s = 0; s < copy_->layout.stripe_count; ++s) {
    if (copy_->marks[s] < copy_->layout.stripe_block_count(s)) missing |= StripeMask{1} << s;
  }
  // Without a missing byte it is the end of a stream that is missing: it says that they are final.
  return (missing & among) == 0 ? among : missing & among;
}

void VirtualNode::Carry(const planner::FlightState::Effects& decided, Effects& out) {
  for (const protocol::NodeEvent& event : decided.say) Say(event, out);
  for (const protocol::Grant& grant : decided.open) Pull(grant, out);
  for (const GrantId& grant : decided.stop) {
    if (EndStream(grant, Outcome::kAbandoned, protocol::Failure::kNone, out)) Complete(out);
  }
}

void VirtualNode::TakeGiven() {
  const Layout& layout = copy_->layout;
  for (std::uint32_t stripe = 0; stripe < layout.stripe_count; ++stripe) {
    if ((flight_->unfed() >> stripe & 1) == 0) continue;
    const auto wrong = Received(stripe, layout.stripe_block_count(stripe), *given_);
    if (!wrong.empty()) complaint_ = wrong;
  }
}

bool VirtualNode::StepFlight(Effects& out) {
  planner::FlightState::Effects decided;
  flight_->Step(Marks(), decided);
  if (given_ && !decided.whole && flight_->receiving()) {
    TakeGiven();
    flight_->Step(Marks(), decided);
  }
  Carry(decided, out);
  return decided.whole;
}

// Its streams have ended when this returns, and what it had is gone, unless it is complete.
void VirtualNode::LeaveFlight(Effects& out) {
  if (!flight_) return;
  planner::FlightState::Effects decided;
  flight_->Leave(Marks(), decided);
  Carry(decided, out);
  flight_.reset();
  given_.reset();
  helping_ = false;
  if (copy_ && !copy_->complete) DropCopy(out);
}

void VirtualNode::Pull(const protocol::Grant& grant, Effects& out) {
  const StripeMask missing = Missing(grant.stripes);
  streams_[grant.grant] = {grant.source.id, missing};
  out.open.push_back({.source = grant.source.id,
                      .version = grant.version,
                      .grant = grant.grant,
                      .stripes = missing,
                      .marks = copy_->marks,
                      .equality_ok = grant.equality_ok,
                      .ordered = leaf_});
}

bool VirtualNode::EndStream(GrantId grant, Outcome outcome, protocol::Failure why, Effects& out) {
  if (streams_.erase(grant) == 0) return false;
  if (outcome != Outcome::kDone) out.end.push_back(grant);
  flight_->Ended(grant, outcome, why);
  return StepFlight(out);
}

void VirtualNode::DropCopy(Effects& out) {
  if (!copy_) return;
  copy_.reset();
  completing_ = false;
  out.copy_gone = true;
}

void VirtualNode::Complete(Effects& out) {
  copy_->complete = true;
  copy_->produces = 0;
  completing_ = false;
  if (flight_) {
    planner::FlightState::Effects decided;
    flight_->Complete(decided);
    Carry(decided, out);
    LeaveFlight(out);
  } else {
    Say(protocol::CopyComplete{object_, copy_->version}, out);
  }
  if (getting_) Return(copy_->content[0], copy_->version);
  if (leaf_) DropCopy(out);
}

}  // namespace hoplite::sim
