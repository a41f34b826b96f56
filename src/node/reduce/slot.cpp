#include "node/reduce/slot.h"

#include <algorithm>
#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "net/await.h"
#include "node/pull/flight.h"

namespace hoplite::node {
namespace {

using planner::Outcome;

// A shard's word about a source may overtake the one that makes it visible here.
constexpr Duration kSourcePatience = std::chrono::seconds(1);
constexpr Duration kTryAgain = std::chrono::milliseconds(5);
constexpr Duration kProgressEvery = std::chrono::milliseconds(100);
// While nothing moves: the shard answers if it knows nothing of this slot any more.
constexpr Duration kAliveEvery = std::chrono::seconds(1);
// Own sources are folded in turns, so that streams of the same loop go on.
constexpr std::uint32_t kBlocksPerTurn = 16;

bool Complete(const store::Copy& copy) { return copy.layout().complete(copy.marks()); }

}  // namespace

Slot::Slot(Context& context, DataPlane& data_plane, EntryPtr entry, planner::SlotAssigned order)
    : context_(context),
      data_plane_(data_plane),
      entry_(std::move(entry)),
      order_(std::move(order)),
      changed_(context.runtime.main()),
      reported_at_(Now()) {
  for (std::size_t i = 0; i < data_plane_.loop_count(); ++i) {
    grown_.push_back(std::make_unique<net::Signal>(data_plane_.LoopAt(i).loop));
  }
}

Slot::~Slot() = default;

void Slot::Start() {
  // From now on the object is made here; a flight would take the memory that it needs.
  if (root() && entry_->flight()) entry_->flight()->Supersede();
  context_.runtime.Spawn(context_.runtime.main(), "slot of a reduction", Run());
}

void Slot::OnCopyChanged() noexcept {
  for (const auto& grown : grown_) grown->Notify();
  changed_.Notify();
}

net::Task<void> Slot::Run() {
  const auto self = shared_from_this();
  bool goes_on = co_await FindSources();
  while (goes_on && co_await ReserveMemory()) {
    co_await FoldAll();
    goes_on = gives_back_ && !dropped_;
    if (goes_on) co_await LetGo();
  }
  dropped_ = true;
  co_await StopStreams();
  for (const store::CopyPtr& source : sources_) source->RemoveListener(this);
  const bool ours = output_ && (accumulator_ != nullptr || root());
  if (ours && !committed_) {
    if (root() && context_.store.Find(entry_->object) == output_) {
      context_.store.Remove(entry_->object);
    }
    output_->Void(store::VoidReason::kRecalled);
  }
  loan_.reset();
  output_.reset();
  sources_.clear();
  sealed_.clear();
  accumulator_.reset();
  entry_->Ended(order_.order.slot, *this);
  context_.memory.OnSpace();
  entry_->Changed();
}

// The copies of its own sources, in the versions that were picked.
net::Task<bool> Slot::FindSources() {
  const Time deadline = Now() + kSourcePatience;
  for (const planner::SlotInput& input : order_.order.inputs) {
    for (;;) {
      if (dropped_) co_return false;
      const store::CopyPtr copy = context_.store.Find(input.object);
      const bool there =
          copy && copy->version() == input.version && copy->state() != store::CopyState::kVoid;
      if (there && copy->layout() == order_.layout) {
        sources_.push_back(copy);
        copy->AddListener(this);
        break;
      }
      if (there || Now() >= deadline) {
        Fail(there ? ErrorCode::kInvalidArgument : ErrorCode::kNotFound,
             fmt::format("source {} {} at {}", input.object.ToHex(),
                         there ? "has another layout" : "is not", context_.settings.name));
        break;
      }
      co_await changed_.Wait(std::min(deadline, Now() + kTryAgain));
    }
    while (failure_ && !dropped_) co_await changed_.Wait();
    if (failure_) co_return false;
  }
  co_return true;
}

// A root's output is the target itself: others may pull it from now on.
bool Slot::ListTarget() {
  if (const store::CopyPtr older = context_.store.Find(entry_->object)) {
    older->Void(store::VoidReason::kRecalled);
    context_.store.Remove(entry_->object);
  }
  const auto listed = context_.store.List(output_, store::CopyKind::kPrimary);
  if (!listed) Fail(listed.error().code, listed.error().message);
  entry_->Changed();
  return listed.has_value();
}

net::Task<void> Slot::FoldAll() {
  const bool folds = output_ != (sources_.empty() ? nullptr : sources_.front());
  if (folds) {
    accumulator_ =
        std::make_shared<Accumulator>(output_, order_.fold, sources_, order_.order.children);
    for (std::size_t loop = 0; loop < data_plane_.loop_count(); ++loop) {
      if (StripesOn(loop) == 0) continue;
      ++folders_;
      context_.runtime.Spawn(data_plane_.LoopAt(loop).loop, "fold of own sources", FoldOwnOn(loop));
    }
  }
  entry_->Changed();
  while (!dropped_) {
    if (root() && output_->state() == store::CopyState::kVoid) break;  // recalled or deleted
    CloseEndedStreams();
    StartDueStreams();
    CheckSources();
    if (InputsFinal() && !final_) Finish();
    ReportProgress();
    co_await changed_.Wait(NextTime());
    if (committed_ || gives_back_) break;
  }
}

net::Task<void> Slot::FoldOwnOn(std::size_t loop) {
  const auto self = shared_from_this();
  const auto accumulator = accumulator_;
  const StripeMask stripes = StripesOn(loop);
  asio::io_context& context = data_plane_.LoopAt(loop).loop;
  while (!stopping_) {
    bool more = false;
    std::uint64_t advanced = 0;
    for (std::uint32_t s = 0; s < order_.layout.stripe_count; ++s) {
      if ((stripes >> s & 1) == 0) continue;
      const std::uint32_t before = accumulator->mark(s);
      more |= accumulator->FoldOwn(s, kBlocksPerTurn);
      advanced += accumulator->mark(s) - before;
    }
    if (advanced > 0) changed_.Notify();
    if (more) {
      co_await asio::post(context, net::kAwait);
    } else {
      co_await grown_[loop]->Wait();
    }
  }
  asio::post(context_.runtime.main(), [self] {
    --self->folders_;
    self->changed_.Notify();
  });
}

std::size_t Slot::LoopOf(std::uint32_t stripe) const {
  return (entry_->object.Hash() + stripe) % data_plane_.loop_count();
}

StripeMask Slot::StripesOn(std::size_t loop) const {
  StripeMask stripes = 0;
  for (std::uint32_t s = 0; s < order_.layout.stripe_count; ++s) {
    if (LoopOf(s) == loop) stripes |= StripeMask{1} << s;
  }
  return stripes;
}

// --- the end

bool Slot::InputsFinal() const {
  const bool drained = children_.size() == order_.order.children &&
                       std::ranges::all_of(children_, [this](const auto& child) {
                         return child.second.final_stripes == order_.layout.all_stripes();
                       });
  return drained && Complete(*output_) && sealed_.size() == sources_.size();
}

// An own source that is void before it was final is lost: nobody may have its bytes. One that was
// final was an object, which may go once it is folded.
void Slot::CheckSources() {
  if (failure_) return;
  for (const store::CopyPtr& source : sources_) {
    const store::CopyState state = source->state();
    if (state == store::CopyState::kFinal) sealed_.insert(source);
    const bool lost =
        state == store::CopyState::kVoid && (!sealed_.contains(source) || source == output_);
    if (!lost) continue;
    const bool deleted = source->void_reason() == store::VoidReason::kDeleted;
    return Fail(deleted ? ErrorCode::kDeleted : ErrorCode::kRecalled,
                fmt::format("source {} was {}", source->object().ToHex(),
                            deleted ? "deleted" : "replaced or given up"));
  }
}

void Slot::Finish() {
  final_ = true;
  context_.directory.Send(Progress());
  if (root()) {
    if (context_.settings.planted(PlantedFault::kReturnsBeforeCommit)) output_->Seal();
    context_.directory.Send(planner::ReduceCommit{entry_->object, order_.version});
  } else if (accumulator_) {
    output_->Seal();
  }
}

void Slot::OnCommitted() {
  if (!final_ || committed_ || !output_) return;
  committed_ = output_->Seal() || context_.settings.planted(PlantedFault::kReturnsBeforeCommit);
  context_.store.Touch(entry_->object, Now());
  changed_.Notify();
  entry_->Changed();
}

void Slot::Drop(store::VoidReason reason) {
  if (dropped_) return;
  dropped_ = true;
  const bool ours = output_ && (accumulator_ != nullptr || root());
  if (ours && !committed_ && output_->state() == store::CopyState::kOpen) output_->Void(reason);
  changed_.Notify();
}

Duration Slot::ReportEvery() const {
  const bool moves =
      std::ranges::any_of(children_, [](const auto& child) { return !child.second.lanes.empty(); });
  return moves ? kProgressEvery : kAliveEvery;
}

void Slot::ReportProgress() {
  const Time now = Now();
  if (now - reported_at_ < ReportEvery()) return;
  reported_at_ = now;
  context_.directory.Send(Progress());
}

Time Slot::NextTime() const {
  Time next = reported_at_ + ReportEvery();
  for (const auto& [slot, child] : children_) {
    if (child.lanes.empty() && child.next_try > Now()) {
      next = std::min(next, child.next_try);
    }
  }
  return next;
}

void Slot::Fail(ErrorCode code, std::string message) {
  log::Debug("{}: {}", Name(), message);
  failure_ = Failure(0, Version(), code, std::move(message));
  context_.directory.Send(*failure_);
}

planner::SlotFailed Slot::Failure(std::uint32_t input, Version input_version, ErrorCode code,
                                  std::string message) const {
  return {entry_->object, order_.order.slot, order_.version, input, input_version,
          code,           std::move(message)};
}

planner::SlotProgress Slot::Progress() const {
  planner::SlotProgress progress{.object = entry_->object,
                                 .slot = order_.order.slot,
                                 .version = order_.version,
                                 .marks = {},
                                 .bytes_per_second = data_plane_.credit().bytes_per_second(),
                                 .round_trip = data_plane_.round_trip().value()};
  if (output_) progress.marks = output_->marks();
  return progress;
}

void Slot::AppendInventory(std::vector<planner::NodeEvent>& events) const {
  events.emplace_back(Progress());
  if (failure_) events.emplace_back(*failure_);
  for (const auto& [slot, child] : children_) {
    const Version version = child.feed.input_version;
    if (child.final_stripes == order_.layout.all_stripes()) {
      events.emplace_back(
          planner::SlotDrained{entry_->object, order_.order.slot, order_.version, slot, version});
    } else if (child.reported) {
      events.emplace_back(LossOf(child));
    }
  }
  if (root() && final_) {
    events.emplace_back(planner::ReduceCommit{entry_->object, order_.version});
  }
}

std::string Slot::Name() const {
  return fmt::format("reduction into {}, slot {} version {}", entry_->object.ToHex(),
                     order_.order.slot, ToString(order_.version));
}

}  // namespace hoplite::node
