#include "planner/node/slot_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace hoplite::planner {
namespace {

// A shard's word about a source may overtake the one that makes it visible at its node.
constexpr Duration kSourcePatience = std::chrono::seconds(1);
constexpr Duration kLookAgain = std::chrono::milliseconds(5);
// A slot that got no memory for so long serves its sources as they are, and another folds them.
constexpr Duration kMemoryPatience = std::chrono::seconds(2);
// Before another slot of the same reduction may take memory that cannot be used yet.
constexpr Duration kHeldAtLeast = std::chrono::milliseconds(100);
// A child may be told of its slot later than we are.
constexpr Duration kChildPatience = std::chrono::seconds(2);
constexpr Duration kTryChildAgain = std::chrono::milliseconds(5);
// A child that waits for memory.
constexpr Duration kTryAgainLater = std::chrono::milliseconds(50);
constexpr Duration kProgressEvery = std::chrono::milliseconds(100);
// While nothing moves: the shard answers if it knows nothing of this slot any more.
constexpr Duration kAliveEvery = std::chrono::seconds(1);

std::uint64_t Blocks(const StripeMarks& marks) {
  return std::accumulate(marks.begin(), marks.end(), std::uint64_t{0});
}

// Of the loss of a child.
ErrorCode CodeOf(Failure failure) {
  if (failure == Failure::kCorrupt) return ErrorCode::kDataLoss;
  return failure == Failure::kUnreachable ? ErrorCode::kUnavailable : ErrorCode::kPeerLost;
}

}  // namespace

SlotState::SlotState(SlotAssigned order, std::string node_name, Time now)
    : order_(std::move(order)),
      node_name_(std::move(node_name)),
      begun_at_(now),
      sources_(order_.order.inputs.size()),
      reported_at_(now) {}

// --- its own sources

bool SlotState::HasSources() const { return std::ranges::all_of(sources_, &Source::found); }

// One that is void before it was final is lost: nobody may have its bytes. One that was final was
// an object, which may go once it is folded: what becomes of it counts while there is an output.
void SlotState::OnSource(std::size_t i, OwnSource source, Time now, Effects& out) {
  if (failure_ || dropped_) return;
  Source& known = sources_[i];
  const auto fail = [&](ErrorCode code, const std::string& what) {
    Fail(code, "source " + order_.order.inputs[i].object.ToHex() + what, out);
  };
  if (source == OwnSource::kGrowing || source == OwnSource::kFinal) {
    known.found = true;
    known.final |= has_output_ && source == OwnSource::kFinal;
  } else if (source == OwnSource::kOtherLayout) {
    fail(ErrorCode::kInvalidArgument, " has another layout at " + node_name_);
  } else if (!known.found) {
    if (now >= begun_at_ + kSourcePatience) fail(ErrorCode::kNotFound, " is not at " + node_name_);
  } else if (has_output_ && (!known.final || serves_source())) {
    const bool deleted = source == OwnSource::kDeleted;
    fail(deleted ? ErrorCode::kDeleted : ErrorCode::kRecalled,
         deleted ? " was deleted" : " was replaced or given up");
  }
}

// --- memory: slots that each hold some, and wait for more, would wait for each other (R45)

bool SlotState::serves_source() const {
  return !root() && order_.order.children == 0 && sources_.size() == 1;
}

bool SlotState::Rests(Time now) const {
  return rests_until_asked_ ? Drained() : now < rests_until_;
}

bool SlotState::WantsOutput(Time now) const {
  return !over() && !has_output_ && HasSources() && !Rests(now);
}

void SlotState::OnOutput(Time now) {
  has_output_ = true;
  output_since_ = now;
  waits_for_memory_since_ = kNever;
}

void SlotState::OnNoMemory(bool ever, Time now, Effects& out, bool disk_works) {
  waits_for_memory_since_ = disk_works ? now : std::min(waits_for_memory_since_, now);
  if (ever && now < waits_for_memory_since_ + kMemoryPatience) return;
  Fail(ErrorCode::kResourceExhausted,
       fmt::format("{} has no memory for a partial result of {} bytes", node_name_,
                   order_.layout.size_bytes),
       out);
}

// A slot that held memory for a while and still lacks an input gives it to another slot of the same
// reduction, which may produce that input. The first that has all its inputs keeps its memory.
bool SlotState::Spares(const std::optional<ObjectId>& operation, const FoldProgress& folded,
                       Time now) const {
  if (!has_output_ || serves_source() || gives_back_ || dropped_) return false;
  if (Drained()) return true;
  const bool same = operation == order_.object;
  const bool held = now >= output_since_ + kHeldAtLeast;
  return same && held && !folded.any && !folded.of_each_child;
}

bool SlotState::OnAsked(StripeMask stripes) {
  const bool had_all = Drained();
  drained_ &= ~stripes;
  return had_all;
}

// What it had before it was made anew is not of this output.
bool SlotState::OnDrained(StripeMask stripes) {
  if (gives_back_) return false;
  drained_ |= stripes & final_stripes_;
  return Drained();
}

void SlotState::GiveBack() {
  gives_back_ = true;
  rests_until_asked_ = Drained();
}

// Nobody has a byte of it, and others come first for a while; or its parents have all, and it waits
// until it is asked once more.
void SlotState::LetGo(Time now) {
  gives_back_ = has_output_ = false;
  final_stripes_ = 0;
  rests_until_ = now + kHeldAtLeast;
  for (auto& [slot, child] : children_) {
    child = Child{.feed = child.feed, .lost = child.lost, .end = child.end};
  }
}

// --- children

bool SlotState::OnFeed(const SlotFeed& feed) {
  // A repeated one changes nothing: another version of a child means another version of ours.
  const bool has_place =
      !children_.contains(feed.input) && children_.size() < order_.order.children;
  if (feed.version != order_.version || !has_place) return false;
  const auto child = children_.emplace(feed.input, Child{.feed = feed}).first;
  child->second.feed.stripes &= makes();
  return true;
}

void SlotState::PullWhatIsDue(Time now, Effects& out) {
  if (serves_source() || gives_back_) return;
  for (auto& [slot, child] : children_) {
    if (!PullIsDue(child, now)) continue;
    child.open = true;
    child.end = StreamsEnd();
    out.pull.push_back({slot, child.feed.stripes & ~child.end_seen, ResumesAt(child)});
  }
}

void SlotState::OnStripesEnded(std::uint32_t input, StripeMask stripes) {
  children_.at(input).end_seen |= stripes;
}

// At that child's own mark. The output's mark is the least of all: from there on blocks of this
// child would be folded twice (R34).
StripeMarks SlotState::ResumesAt(const Child& child) const {
  return child.folded.empty() ? order_.layout.empty_marks() : child.folded;
}

void SlotState::OnStreamsEnded(std::uint32_t input, const StreamsEnd& end,
                               const StripeMarks& folded, Time now, Effects& out) {
  Child& child = children_.at(input);
  if (!std::exchange(child.open, false) || over() || gives_back_) return;
  child.folded = folded;
  if (drained(child)) {
    out.say.emplace_back(DrainedOf(child));
  } else {
    child.end = end;
    OnFailedStreams(child, now, out);
  }
}

// A child that has nothing to serve from yet says itself if it gives up. One that doesn't know its
// slot yet, or had its output recalled, will be known or replaced soon; after a connection that
// broke, or a block that was damaged on its way, it is asked once more for what is missing.
// Anything else, or the same again before another block was folded, is a loss at once.
void SlotState::OnFailedStreams(Child& child, Time now, Effects& out) {
  const Failure failure = child.end.failure;
  if (failure == Failure::kNotAhead) {
    child.next_try = now + kTryAgainLater;
    return;
  }
  const std::uint64_t folded = Blocks(child.folded);
  const bool first = child.failing_since == kNever || folded > child.folded_when_failing;
  child.folded_when_failing = folded;
  if (first) child.failing_since = now;
  const bool may_come = failure == Failure::kUnknown || failure == Failure::kNone;
  const bool damaged = failure == Failure::kBroken || failure == Failure::kCorrupt;
  if ((may_come && now - child.failing_since < kChildPatience) || (damaged && first)) {
    child.next_try = now + kTryChildAgain;
    return;
  }
  child.lost = true;
  out.say.emplace_back(LossOf(child));
}

// --- the end

// A child that is not known yet may feed any.
StripeMask SlotState::FinalOf(const FoldProgress& folded) const {
  const bool known = children_.size() == order_.order.children;
  if (!known || !std::ranges::all_of(sources_, &Source::final)) return 0;
  StripeMask stripes = folded.made & makes();
  for (const auto& [slot, child] : children_) stripes &= child.end_seen | ~child.feed.stripes;
  return stripes;
}

// A parent folds stripes of others, too: it gets the END of each as soon as there is one. What is
// served as it is was sealed by whoever made it.
void SlotState::SealWhatIsFinal(const FoldProgress& folded, Effects& out) {
  const StripeMask news = FinalOf(folded) & ~final_stripes_;
  if (news == 0) return;
  final_stripes_ |= news;
  if (!root() && !serves_source()) out.seal |= news;
  if (final()) Finish(out);
}

void SlotState::Finish(Effects& out) {
  out.say.emplace_back(Progress());
  if (root()) out.say.emplace_back(Commit());
}

// Who makes a part does not know whether the rest is there.
void SlotState::OnCommitted(Effects& out) {
  if (!final() || committed_) return;
  committed_ = true;
  if (makes_all()) out.seal = makes();
}

void SlotState::OnRefused(const Error& why, Effects& out) { Fail(why.code, why.message, out); }

// --- what is due, and what is said

Time SlotState::Plan(Time now, const FoldProgress& folded, Effects& out) {
  if (over()) return kNever;
  if (!has_output_ && !Rests(now)) return NextLook(now);
  if (has_output_) PullWhatIsDue(now, out);
  if (has_output_) SealWhatIsFinal(folded, out);
  Report(now, out);
  return NextTime(now);
}

// What it waits for is noticed by looking. Once it has failed it waits to be dropped.
Time SlotState::NextLook(Time now) const {
  if (failure_) return kNever;
  if (!HasSources()) return std::min(begun_at_ + kSourcePatience, now + kLookAgain);
  if (waits_for_memory_since_ == kNever) return now;  // it wants an output, at once
  return std::min(waits_for_memory_since_ + kMemoryPatience, now + kHeldAtLeast);
}

Duration SlotState::ReportEvery() const {
  const bool moves =
      std::ranges::any_of(children_, [](const auto& child) { return child.second.open; });
  return moves ? kProgressEvery : kAliveEvery;
}

void SlotState::Report(Time now, Effects& out) {
  if (now - reported_at_ < ReportEvery()) return;
  reported_at_ = now;
  out.say.emplace_back(Progress());
}

Time SlotState::NextTime(Time now) const {
  Time next = reported_at_ + ReportEvery();
  if (!has_output_) return rests_until_asked_ ? next : std::min(next, rests_until_);
  for (const auto& [slot, child] : children_) {
    if (!child.open && child.next_try > now) next = std::min(next, child.next_try);
  }
  return next;
}

void SlotState::Fail(ErrorCode code, std::string message, Effects& out) {
  if (failure_) return;
  failure_ = SlotFailed{order_.object, number(), order_.version, 0, {}, code, std::move(message)};
  out.say.emplace_back(*failure_);
}

SlotProgress SlotState::Progress() const {
  return {.object = order_.object, .slot = number(), .version = order_.version, .marks = {}};
}

SlotDrained SlotState::DrainedOf(const Child& child) const {
  return {order_.object, number(), order_.version, child.feed.input, child.feed.input_version};
}

SlotFailed SlotState::LossOf(const Child& child) const {
  return {order_.object,
          number(),
          order_.version,
          child.feed.input,
          child.feed.input_version,
          CodeOf(child.end.failure),
          child.end.why};
}

std::vector<NodeEvent> SlotState::Inventory() const {
  std::vector<NodeEvent> events{Progress()};
  if (failure_) events.emplace_back(*failure_);
  for (const auto& [slot, child] : children_) {
    if (drained(child)) {
      events.emplace_back(DrainedOf(child));
    } else if (child.lost) {
      events.emplace_back(LossOf(child));
    }
  }
  if (root() && final()) events.emplace_back(Commit());
  return events;
}

void SlotState::AddTo(Digest& digest) const {
  digest.Add(number()).Add(order_.version).Add(begun_at_);
  for (const Source& source : sources_) digest.Add(source.found).Add(source.final);
  digest.Add(has_output_).Add(output_since_).Add(waits_for_memory_since_);
  digest.Add(gives_back_).Add(rests_until_asked_).Add(rests_until_).Add(drained_);
  for (const auto& [slot, child] : children_) {
    digest.Add(slot).Add(child.feed.input_version).Add(child.open).Add(child.lost);
    digest.Add(child.end_seen).Add(child.failing_since).Add(child.next_try);
    digest.Add(child.folded_when_failing);
    for (const std::uint32_t mark : child.folded) digest.Add(mark);
  }
  digest.Add(children_.size()).Add(failed()).Add(final_stripes_).Add(committed_).Add(dropped_);
}

}  // namespace hoplite::planner
