// Slot: the streams that pull its children's outputs.
#include <algorithm>

#include "base/log.h"
#include "node/reduce/slot.h"

namespace hoplite::node {
namespace {

using planner::Outcome;

// A child may be told of its slot later than we are.
constexpr Duration kChildPatience = std::chrono::seconds(2);
constexpr Duration kTryChildAgain = std::chrono::milliseconds(5);
// A child that waits for memory.
constexpr Duration kTryAgainLater = std::chrono::milliseconds(50);

}  // namespace

void Slot::OnFeed(const planner::SlotFeed& feed) {
  // A repeated one changes nothing: another version of a child means another version of ours.
  if (children_.contains(feed.input) || children_.size() >= order_.order.children) return;
  const auto index = static_cast<std::uint32_t>(children_.size());
  children_.emplace(feed.input, Child{.feed = feed, .index = index, .lanes = {}, .pending = {}});
  changed_.Notify();
}

bool Slot::Due(const Child& child) const {
  return child.lanes.empty() && !child.reported &&
         child.final_stripes != order_.layout.all_stripes() && Now() >= child.next_try;
}

bool Slot::held_up() const {
  const bool goes_on = accumulator_ && !dropped_ && !gives_back_;
  return goes_on &&
         std::ranges::any_of(children_, [this](const auto& child) { return Due(child.second); });
}

void Slot::StartDueStreams() {
  if (!accumulator_) return;
  if (context_.settings.planted(PlantedFault::kQueuesInputs) && data_plane_.gate().full()) return;
  for (auto& [slot, child] : children_) {
    if (Due(child)) StartStreams(child);
  }
}

// One stream for each data loop: a stripe is always folded on the same one.
void Slot::StartStreams(Child& child) {
  planner::Grant grant;
  grant.object = entry_->object;
  grant.version = child.feed.input_version;
  grant.grant = GrantId{child.feed.input_version};
  grant.source = child.feed.source;
  if (context_.settings.planted(PlantedFault::kFoldsTwice)) accumulator_->Rewind(child.index);
  child.ended = 0;
  child.end = LaneEnd();
  child.pending.clear();
  for (std::size_t loop = 0; loop < data_plane_.loop_count(); ++loop) {
    const StripeMask stripes = StripesOn(loop) & ~child.final_stripes;
    if (stripes == 0) continue;
    const std::size_t lane = child.lanes.size();
    child.pending.push_back(stripes);
    child.lanes.push_back(std::make_shared<ReceiveLane>(
        context_, data_plane_, data_plane_.LoopAt(loop),
        std::make_shared<FoldSink>(accumulator_, child.index), grant, stripes, child.feed.input,
        [weak = weak_from_this(), slot = child.feed.input, lane](const LaneEnd& end) {
          if (const auto self = weak.lock()) self->OnLaneEnd(slot, lane, end);
        }));
  }
  for (const auto& lane : child.lanes) lane->Start();
}

void Slot::OnLaneEnd(std::uint32_t slot, std::size_t lane, const LaneEnd& end) {
  Child& child = children_.at(slot);
  ++child.ended;
  if (end.outcome == Outcome::kDone) {
    child.final_stripes |= child.pending[lane];
  } else {
    if (child.end.outcome != Outcome::kFailed) child.end = end;
    for (const auto& other : child.lanes) other->Stop();
  }
  changed_.Notify();
}

void Slot::CloseEndedStreams() {
  for (auto& [slot, child] : children_) {
    if (child.lanes.empty() || child.ended < child.lanes.size()) continue;
    child.lanes.clear();
    if (dropped_ || gives_back_) continue;
    if (child.final_stripes == order_.layout.all_stripes()) {
      context_.directory.Send(planner::SlotDrained{entry_->object, order_.order.slot,
                                                   order_.version, slot, child.feed.input_version});
    } else {
      OnStreamsFailed(child);
    }
  }
}

// A child that has nothing to serve from yet says itself if it gives up. One that doesn't know its
// slot yet, or had its output recalled, will be known or replaced soon; after a connection that
// broke, or a block that was damaged on its way, it is asked once more for what is missing.
// Anything else, or the same again before another block was folded, is a loss at once.
void Slot::OnStreamsFailed(Child& child) {
  const Time now = Now();
  const auto failure = child.end.failure;
  if (failure == planner::Failure::kNotAhead) {
    child.next_try = now + kTryAgainLater;
    return;
  }
  const std::uint64_t folded = FoldedOf(child);
  const bool first = child.failing_since == kNever || folded > child.folded_when_failing;
  if (first) child.failing_since = now;
  child.folded_when_failing = folded;
  const bool may_come = failure == planner::Failure::kUnknown || failure == planner::Failure::kNone;
  const bool damaged =
      failure == planner::Failure::kBroken || failure == planner::Failure::kCorrupt;
  const bool again = (may_come && now - child.failing_since < kChildPatience) || (damaged && first);
  log::Debug("{}: child {}: {}{}", Name(), child.feed.input, child.end.why,
             again ? ", once more" : "");
  if (again) {
    child.next_try = now + kTryChildAgain;
    return;
  }
  child.reported = true;
  context_.directory.Send(LossOf(child));
}

// Blocks of all stripes.
std::uint64_t Slot::FoldedOf(const Child& child) const {
  std::uint64_t folded = 0;
  for (std::uint32_t s = 0; s < order_.layout.stripe_count; ++s) {
    folded += accumulator_->child_mark(child.index, s);
  }
  return folded;
}

planner::SlotFailed Slot::LossOf(const Child& child) const {
  const bool corrupt = child.end.failure == planner::Failure::kCorrupt;
  return Failure(child.feed.input, child.feed.input_version,
                 corrupt ? ErrorCode::kDataLoss : ErrorCode::kPeerLost, child.end.why);
}

net::Task<void> Slot::StopStreams() {
  stopping_ = true;
  for (const auto& grown : grown_) grown->Notify();
  for (auto& [slot, child] : children_) {
    for (const auto& lane : child.lanes) lane->Stop();
  }
  const auto busy = [this] {
    return folders_ > 0 || std::ranges::any_of(children_, [](const auto& child) {
             return !child.second.lanes.empty();
           });
  };
  CloseEndedStreams();
  while (busy()) {
    co_await changed_.Wait();
    CloseEndedStreams();
  }
}

}  // namespace hoplite::node
