// VirtualNode: its copy, and streams at both ends.
#include <utility>

#include "sim/planner_world/virtual_node.h"

namespace hoplite::sim {

using planner::Outcome;

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
  if (copy_ && copy_->producing) Complete(out);
}

void VirtualNode::StripeWhole(GrantId grant, std::uint32_t stripe, Effects& out) {
  const auto stream = streams_.find(grant);
  if (stream == streams_.end()) return;
  stream->second.missing &= ~(StripeMask{1} << stripe);
  copy_->final = true;
  if (stream->second.missing == 0) {
    EndStream(grant, Outcome::kDone, planner::Failure::kNone, out);
  }
  if (copy_->layout.complete(copy_->marks)) Complete(out);
}

void VirtualNode::StreamFailed(GrantId grant, planner::Failure why, Effects& out) {
  EndStream(grant, Outcome::kFailed, why, out);
}

void VirtualNode::StreamRecalled(GrantId grant, Effects& out) {
  if (!streams_.contains(grant)) return;
  DropRecalledCopy(out);
  AskUnlessKnown(out);
}

void VirtualNode::StreamDeleted(GrantId grant, Effects& out) {
  if (!streams_.contains(grant)) return;
  told_deleted_ = told_deleted_ || getting_;
  Forget(out);
}

planner::Failure VirtualNode::Answer(const Fetch& fetch) const {
  if (!copy_ || copy_->version != fetch.version) return planner::Failure::kUnknown;
  if (copy_->complete || copy_->producing) return planner::Failure::kNone;
  for (std::uint32_t s = 0; s < copy_->layout.stripe_count; ++s) {
    if ((fetch.stripes >> s & 1) == 0) continue;
    const std::uint32_t ahead = copy_->marks[s];
    if (ahead > fetch.marks[s] || (ahead == fetch.marks[s] && fetch.equality_ok)) continue;
    return planner::Failure::kNotAhead;
  }
  return planner::Failure::kNone;
}

planner::Progress VirtualNode::ProgressReport(std::uint64_t bytes_per_second) const {
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
  // If no byte is missing, the end of a stream is, which says that the bytes are final.
  if (missing == 0 && !copy_->complete) return among;
  return missing & among;
}

void VirtualNode::Close(const planner::Grant& grant, Outcome outcome, Effects& out) {
  Say(planner::GrantClosed{.object = object_,
                           .version = grant.version,
                           .grant = grant.grant,
                           .outcome = outcome,
                           .marks = copy_ ? copy_->marks : StripeMarks{}},
      out);
}

void VirtualNode::EndStream(GrantId grant, Outcome outcome, planner::Failure why, Effects& out) {
  if (streams_.erase(grant) == 0) return;
  if (outcome != Outcome::kDone) out.end.push_back(grant);
  Say(planner::GrantClosed{.object = object_,
                           .version = copy_->version,
                           .grant = grant,
                           .outcome = outcome,
                           .failure = why,
                           .marks = copy_->marks},
      out);
}

void VirtualNode::EndAllStreams(Effects& out) {
  while (!streams_.empty()) {
    EndStream(streams_.begin()->first, Outcome::kAbandoned, planner::Failure::kNone, out);
  }
}

void VirtualNode::DropRecalledCopy(Effects& out) {
  EndAllStreams(out);
  Say(planner::CopyGone{object_, copy_->version, planner::GoneReason::kRecalled}, out);
  copy_.reset();
  out.copy_gone = Effects::Gone::kRecalled;
}

void VirtualNode::Complete(Effects& out) {
  copy_->complete = true;
  copy_->producing = false;
  Say(planner::CopyComplete{object_, copy_->version}, out);
  if (getting_) Return(copy_->content[0], copy_->version);
}

}  // namespace hoplite::sim
