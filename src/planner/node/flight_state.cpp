#include "planner/node/flight_state.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace hoplite::planner {

void FlightState::Locate(Effects& out, const Question& question, std::uint64_t expects) {
  const bool joint = joint_;
  *this = FlightState(object_);
  stage_ = Stage::kLocating;
  question_ = question;
  joint_ = joint;
  out.say.emplace_back(*OpenLocate(expects));
}

void FlightState::Expect(Effects& out, std::uint64_t expects) {
  if (locating()) AskAgain(out, expects);
}

void FlightState::LoseRoom(Effects& out, std::uint64_t expects) {
  if (std::exchange(question_.room, 0) != 0 && locating()) AskAgain(out, expects);
}

void FlightState::AskAgain(Effects& out, std::uint64_t expects) {
  again_ = true;
  out.say.emplace_back(*OpenLocate(expects));
}

// If the shard heard the last question after this answer it may have parked that.
void FlightState::TakeAnswer(Effects& out) {
  stage_ = Stage::kPreparing;
  if (std::exchange(again_, false)) out.say.emplace_back(CancelLocate{object_});
}

// An answer may be to a question that was taken back meanwhile. If it counts as a Want, that is taken
// back as well: words that were said since may have ended it. But not from a flight that has said the
// same Want by itself.
bool FlightState::On(const protocol::Located& located, Effects& out) {
  const bool asked = locating();
  const bool mine = asked && located.wanted == question_.number;
  const bool said = !asked && located_ && located_->version == located.version &&
                    (stage_ == Stage::kReceiving || stage_ == Stage::kLeaving);
  if (located.wanted != 0 && !mine && !said) {
    out.say.emplace_back(CancelWant{object_, located.version});
  }
  if (!asked) return false;
  TakeAnswer(out);
  located_ = located;
  if (!mine) located_->wanted = 0;
  return true;
}

void FlightState::Decline(Effects& out) {
  if (std::exchange(located_->wanted, 0) == 0) return;
  out.say.emplace_back(CancelWant{object_, located_->version});
}

bool FlightState::On(const InlineObject& /*object*/, Effects& out) {
  if (!locating()) return false;
  TakeAnswer(out);
  return true;
}

bool FlightState::OnHandedOn(std::uint64_t number, Effects& out) {
  if (!locating() || number != question_.number) return false;
  again_ = true;
  TakeAnswer(out);
  return true;
}

bool FlightState::OnGiven(const InlineObject& object, Effects& out) {
  const bool of_use = receiving() && object.version == located_->version &&
                      object.bytes->size() == located_->layout.size_bytes;
  if (!of_use) return false;
  if (leaf_) {
    recalled_ = true;
    out.say.emplace_back(CancelWant{object_, located_->version});
  } else {
    given_ = end_seen_ = committed_ = true;  // it is the END of every stream
    for (Stream& stream : streams_) Stop(stream, out);
  }
  return true;
}

StripeMask FlightState::unfed() const {
  StripeMask stripes = located_->layout.all_stripes() & ~made_here_;
  for (const Stream& stream : streams_) stripes &= ~stream.grant.stripes;
  return stripes;
}

void FlightState::Adopt(const protocol::Located& version, StripeMask made_here) {
  stage_ = Stage::kPreparing;
  located_ = version;
  made_here_ = made_here;
}

void FlightState::Receive(const StripeMarks& marks, bool leaf, Time now, Effects& out) {
  stage_ = Stage::kReceiving;
  leaf_ = leaf;
  received_at_ = read_at_ = now;
  if (located_->wanted == 0) out.say.emplace_back(Wanting(marks));
}

void FlightState::Join(const StripeMarks& marks, Effects& out) {
  if (std::exchange(joint_, true) || !receiving() || leaf_) return;
  out.say.emplace_back(Wanting(marks));
}

void FlightState::On(const Grant& grant, const StripeMarks& marks, Effects& out) {
  const bool under_way = stage_ == Stage::kReceiving || stage_ == Stage::kLeaving;
  const bool of_use = under_way && grant.version == located_->version;
  if (!of_use || (grant.stripes & made_here_) != 0) {
    out.say.emplace_back(Closed(grant, Outcome::kAbandoned, Failure::kNone, marks));
    return;
  }
  told_.push_back(grant);
}

bool FlightState::OnRecall(Version below) {
  if (!located_ || !(located_->version < below)) return false;
  recalled_ = true;
  return true;
}

bool FlightState::Ends(const protocol::TargetAborted& aborted) const {
  if (locating()) return aborted.question == question_.number;
  return located_ && located_->version <= aborted.version;
}

void FlightState::OnLost(Effects& out) {
  // Without streams the inventory repeats the Want; otherwise Step says it when they have ended.
  told_.clear();
  for (Stream& stream : streams_) {
    want_after_ |= stream.grant.stripes;
    Stop(stream, out);
  }
}

void FlightState::EndedInPart(const GrantId& grant, bool end_seen) {
  end_seen_ |= end_seen;
  if (Stream* const stream = Find(grant)) stream->ending = true;
}

void FlightState::Ended(const GrantId& grant, Outcome outcome, Failure failure) {
  end_seen_ |= outcome == Outcome::kDone;
  Stream* const stream = Find(grant);
  if (stream == nullptr) return;
  stream->outcome = outcome;
  stream->failure = failure;
}

void FlightState::Step(const StripeMarks& marks, Effects& out) {
  CloseEnded(marks, out);
  if (stage_ == Stage::kLeaving) return FinishLeaving(marks, out);
  if (!receiving()) return;
  out.whole = Whole(marks);
  if (out.whole) return;
  if (given_) return;
  if (want_after_ != 0 && !Brings(want_after_)) {
    want_after_ = 0;
    out.say.emplace_back(Wanting(marks));
  }
  OpenDue(out);
}

void FlightState::CloseEnded(const StripeMarks& marks, Effects& out) {
  std::erase_if(streams_, [&](const Stream& stream) {
    if (!stream.outcome) return false;
    out.say.emplace_back(Closed(stream.grant, *stream.outcome, stream.failure, marks));
    return true;
  });
}

// A grant that replaces another waits until that one is closed: a receiver closes its old upstream
// before it opens the next. What comes later for the same stripes waits behind it, or it would
// replace its own successor.
void FlightState::OpenDue(Effects& out) {
  StripeMask waiting = 0;
  for (auto grant = told_.begin(); grant != told_.end();) {
    bool waits = (waiting & grant->stripes) != 0;
    for (Stream& stream : streams_) {
      if ((stream.grant.stripes & grant->stripes) == 0) continue;
      waits = true;
      Stop(stream, out);
    }
    if (waits) {
      waiting |= grant->stripes;
      ++grant;
      continue;
    }
    out.open.push_back(*grant);
    streams_.push_back({.grant = std::move(*grant)});
    grant = told_.erase(grant);
  }
}

void FlightState::Leave(const StripeMarks& marks, Effects& out) {
  if (locating()) {
    out.say.emplace_back(CancelLocate{object_});
    stage_ = Stage::kLeft;
  }
  if (!receiving()) return;
  stage_ = Stage::kLeaving;
  if (!recalled_ && !complete_) out.say.emplace_back(CancelWant{object_, located_->version});
  for (Stream& stream : streams_) Stop(stream, out);
  Step(marks, out);
}

// Nothing is left under way: memory is not dropped while a stream still writes to it.
void FlightState::FinishLeaving(const StripeMarks& marks, Effects& out) {
  if (pulls()) return;
  for (const Grant& grant : told_) {
    out.say.emplace_back(Closed(grant, Outcome::kAbandoned, Failure::kNone, marks));
  }
  told_.clear();
  stage_ = Stage::kLeft;
  if (recalled_ || deleted_ || complete_) return;
  out.say.emplace_back(CopyGone{object_, located_->version, GoneReason::kDropped});
}

bool FlightState::Whole(const StripeMarks& marks) const {
  const bool ending = std::ranges::any_of(streams_, &Stream::ending);
  return end_seen_ && (committed_ || !ending) && located_->layout.complete(marks);
}

void FlightState::Complete(Effects& out) {
  complete_ = true;
  if (leaf_) {
    out.say.emplace_back(CancelWant{object_, located_->version});
  } else {
    out.say.emplace_back(CopyComplete{object_, located_->version});
  }
}

bool FlightState::LendsTurn(std::uint64_t received_bytes, Time now) {
  if (received_bytes != std::exchange(received_, received_bytes)) received_at_ = now;
  return now - received_at_ >= kTurnKept;
}

bool FlightState::ReaderStalls(std::uint64_t ready_bytes, std::uint64_t read_bytes,
                               Duration patience, Time now) {
  if (!leaf_) return false;
  const bool ready = ready_bytes > read_bytes;
  if (read_bytes != std::exchange(read_, read_bytes) || !ready) read_at_ = now;
  return now - read_at_ > patience;
}

std::vector<Upstream> FlightState::TellUpstreams() {
  std::vector<Upstream> upstreams;
  StripeMask named = 0;
  const auto name = [&](const Grant& grant) {
    const StripeMask stripes = grant.stripes & ~named;
    if (stripes != 0) upstreams.push_back({grant.source.id, grant.grant, stripes});
    named |= stripes;
    return stripes;
  };
  for (const Stream& stream : streams_) {
    name(stream.grant);
    if (stream.stopping) want_after_ |= stream.grant.stripes;
  }
  // The shard has replaced the older ones in its books.
  for (Grant& grant : std::views::reverse(told_)) grant.stripes = name(grant);
  std::erase_if(told_, [](const Grant& grant) { return grant.stripes == 0; });
  return upstreams;
}

std::optional<Want> FlightState::OpenWant(const StripeMarks& marks) const {
  if (!receiving() || recalled_ || (!leaf_ && (pulls() || !told_.empty()))) return std::nullopt;
  return Wanting(marks);
}

std::optional<protocol::Locate> FlightState::OpenLocate(std::uint64_t expects) const {
  if (!locating()) return std::nullopt;
  return protocol::Locate{object_, expects, question_.room, question_.number, joint_};
}

void FlightState::AddTo(Digest& digest) const {
  digest.Add(stage_)
      .Add(question_.room)
      .Add(question_.number)
      .Add(again_)
      .Add(leaf_)
      .Add(joint_)
      .Add(recalled_)
      .Add(deleted_)
      .Add(complete_)
      .Add(made_here_)
      .Add(want_after_);
  digest.Add(end_seen_).Add(committed_).Add(given_).Add(located_ ? located_->version : Version{});
  for (const Grant& grant : told_) digest.Add(grant.grant).Add(grant.source.id).Add(grant.stripes);
  for (const Stream& stream : streams_) {
    digest.Add(stream.grant.grant).Add(stream.grant.source.id).Add(stream.grant.stripes);
    digest.Add(stream.stopping);
  }
}

bool FlightState::Brings(StripeMask stripes) const {
  return std::ranges::any_of(
      streams_, [&](const Stream& stream) { return (stream.grant.stripes & stripes) != 0; });
}

FlightState::Stream* FlightState::Find(const GrantId& grant) {
  const auto found = std::ranges::find_if(
      streams_, [&](const Stream& stream) { return stream.grant.grant == grant; });
  return found == streams_.end() ? nullptr : &*found;
}

void FlightState::Stop(Stream& stream, Effects& out) {
  if (!std::exchange(stream.stopping, true)) out.stop.push_back(stream.grant.grant);
}

Want FlightState::Wanting(const StripeMarks& marks) const {
  return {object_, located_->version, marks, leaf_, joint_};
}

GrantClosed FlightState::Closed(const Grant& grant, Outcome outcome, Failure failure,
                                const StripeMarks& marks) const {
  return {object_, grant.version, grant.grant, outcome, failure, marks, grant.source.id};
}

}  // namespace hoplite::planner
