// Slot: the streams that pull its children's outputs.
#include <algorithm>

#include <asio/post.hpp>

#include "base/log.h"
#include "node/reduce/slot.h"

namespace hoplite::node {

using protocol::Outcome;

// One stream for each data loop that has stripes: one is always folded on the same.
void Slot::StartStreams(const planner::SlotState::Effects::Pull& pull) {
  const protocol::SlotFeed& feed = state_->children().at(pull.input).feed;
  protocol::Grant grant;
  grant.object = entry_->object;
  grant.version = feed.input_version;
  grant.grant = GrantId{feed.input_version};
  grant.source = feed.source;
  Streams& streams = StreamsOf(pull.input);
  streams.ended = 0;
  streams.end = LaneEnd();
  for (std::size_t loop = 0; loop < data_plane_.loop_count(); ++loop) {
    const StripeMask stripes = StripesOn(loop) & pull.stripes;
    if (stripes == 0) continue;
    streams.lanes.push_back(std::make_shared<ReceiveLane>(
        context_, data_plane_, data_plane_.LoopAt(loop),
        std::make_shared<FoldSink>(accumulator_, streams.index, pull.from, OnStripes(pull.input)),
        grant, stripes, pull.input,
        [weak = weak_from_this(), input = pull.input](const LaneEnd& end) {
          if (const auto self = weak.lock()) self->OnLaneEnd(input, end);
        }));
  }
  for (const auto& lane : streams.lanes) lane->Start();
}

// Told on a data loop that stripes of this child are final; the end of their lane comes behind it.
std::function<void(StripeMask)> Slot::OnStripes(std::uint32_t input) {
  return [weak = weak_from_this(), &main = context_.runtime.main(), input](StripeMask stripes) {
    asio::post(main, [weak, input, stripes] {
      const auto self = weak.lock();
      if (!self) return;
      self->state_->OnStripesEnded(input, stripes);
      self->changed_.Notify();
    });
  };
}

// All lanes of a child end together: only then is it known how far each stripe came.
void Slot::OnLaneEnd(std::uint32_t input, const LaneEnd& end) {
  Streams& streams = streams_.at(input);
  ++streams.ended;
  if (end.outcome != Outcome::kDone) {
    if (streams.end.outcome != Outcome::kFailed) streams.end = end;
    for (const auto& other : streams.lanes) other->Stop();
  }
  changed_.Notify();
}

void Slot::CloseEndedStreams(planner::SlotState::Effects& effects) {
  for (auto& [input, streams] : streams_) {
    if (streams.lanes.empty() || streams.ended < streams.lanes.size()) continue;
    streams.lanes.clear();
    const bool failed = streams.end.outcome == Outcome::kFailed;
    const auto failure = failed ? streams.end.failure : protocol::Failure::kNone;
    if (failed && failure != protocol::Failure::kNotAhead) {
      log::Debug("{}: child {}: {}", Name(), input, streams.end.why);
    }
    const planner::StreamsEnd end{failure, streams.end.why};
    state_->OnStreamsEnded(input, end, FoldedOf(streams), Now(), effects);
  }
}

net::Task<void> Slot::StopStreams() {
  stopping_ = true;
  for (const auto& grown : grown_) grown->Notify();
  for (const auto& disk : from_disk_) disk->Notify();
  for (auto& [input, streams] : streams_) {
    for (const auto& lane : streams.lanes) lane->Stop();
  }
  planner::SlotState::Effects none;  // nobody needs them any more
  CloseEndedStreams(none);
  while (folders_ > 0 || Streaming()) {
    co_await changed_.Wait();
    CloseEndedStreams(none);
  }
}

bool Slot::Streaming() const {
  return std::ranges::any_of(streams_,
                             [](const auto& streams) { return !streams.second.lanes.empty(); });
}

bool Slot::held_up() const {
  if (!accumulator_ || state_->over() || state_->gives_back()) return false;
  return std::ranges::any_of(state_->children(), [this](const auto& child) {
    const auto streams = streams_.find(child.first);
    const bool pulled = streams != streams_.end() && !streams->second.lanes.empty();
    return !pulled && (child.second.open || state_->PullIsDue(child.second, Now()));
  });
}

}  // namespace hoplite::node
