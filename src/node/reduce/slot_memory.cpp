// Slot: its own sources, and the memory of its output.
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/try.h"
#include "node/reduce/slot.h"

namespace hoplite::node {

// --- its sources: the copies here, in the versions that were picked

void Slot::LookAtSources(planner::SlotState::Effects& effects) {
  for (std::size_t i = 0; i < sources_.size() && !state_->failed(); ++i) {
    state_->OnSource(i, LookAtSource(i), Now(), effects);
  }
}

planner::OwnSource Slot::LookAtSource(std::size_t i) {
  using planner::OwnSource;
  const protocol::SlotInput& input = state_->order().order.inputs[i];
  store::CopyPtr& source = sources_[i];
  if (!source) {
    const store::CopyPtr copy = context_.store.Find(input.object);
    const bool there =
        copy && copy->version() == input.version && copy->state() != store::CopyState::kVoid;
    if (!there) return OwnSource::kMissing;
    if (copy->layout() != state_->order().layout) return OwnSource::kOtherLayout;
    source = copy;
    source->AddListener(this);
  }
  switch (source->state()) {
    case store::CopyState::kOpen:
      return OwnSource::kGrowing;
    case store::CopyState::kFinal:
      return OwnSource::kFinal;
    case store::CopyState::kVoid:
      break;
  }
  const bool deleted = source->void_reason() == store::VoidReason::kDeleted;
  return deleted ? OwnSource::kDeleted : OwnSource::kVoid;
}

// --- its output

void Slot::TakeOutput(planner::SlotState::Effects& effects) {
  const protocol::SlotAssigned& order = state_->order();
  if (state_->serves_source()) {
    output_ = sources_.front();
    state_->OnOutput(Now());
    return entry_->Changed();
  }
  if (!waiter_) waiter_.emplace(context_.memory, changed_, entry_->object);
  UnpinSources();
  auto copy = waiter_->Try(entry_->object, order.layout, order.metadata);
  if (!copy) {
    const bool ever = context_.memory.fits_ever(order.layout.size_bytes);
    return state_->OnNoMemory(ever, Now(), effects, context_.memory.disk_works());
  }
  if (!FindSources(effects)) return;
  waiter_.reset();
  output_ = std::move(*copy);
  output_->set_version(version());
  output_->set_made_here(state_->makes());
  state_->OnOutput(Now());
  if (!root()) {
    loan_.emplace(context_.memory, static_cast<MemoryBroker::Lender&>(*this));
  } else if (const auto listed = ListTarget(); !listed) {
    state_->OnRefused(listed.error(), effects);
    return state_->Drop();
  }
  BeginFold();
  if (root() && !makes_all()) FetchRest();
  entry_->Changed();
}

std::string Slot::Waiting() const {
  if (!waiter_) return "";
  return fmt::format("{}, since {}", kPartWaits,
                     context_.memory.WhyNone(state_->order().layout.size_bytes));
}

// A root's output is the target itself: others may pull it from now on.
Result<void> Slot::ListTarget() {
  if (const store::CopyPtr older = context_.store.Find(entry_->object)) {
    older->Void(store::VoidReason::kRecalled);
    context_.store.Remove(entry_->object);
  }
  output_->set_ever_owned(entry_->ever_owned());
  TRY(context_.store.List(output_, store::CopyKind::kPrimary));
  entry_->Changed();
  return {};
}

// A flight of before has been superseded; it may take a moment to end.
void Slot::FetchRest() {
  rest_ = std::make_shared<Flight>(context_, data_plane_, entry_);
  rest_->Adopt(output_);
  interest_.emplace(rest_);
  entry_->Begin(rest_);
  rest_->Start();
}

// Its output is a complete copy, or may still become one.
bool Slot::Stays() const {
  return state_->committed() || (rest_ && output_ && output_->state() == store::CopyState::kFinal);
}

bool Slot::Spares(const std::optional<ObjectId>& operation) const {
  return state_->Spares(operation, Folded(), Now());
}

void Slot::GiveBack() {
  log::Debug("{}: gives its memory back", Name());
  state_->GiveBack();
  changed_.Notify();
}

net::Task<void> Slot::LetGo() {
  output_->Void(store::VoidReason::kGivenBack);
  co_await StopStreams();
  loan_.reset();
  accumulator_.reset();
  from_disk_.clear();
  output_.reset();
  stopping_ = false;
  state_->LetGo(Now());
  context_.memory.OnSpace();
}

// Its output stays only if it is the target that was committed.
void Slot::Release() {
  for (const store::CopyPtr& source : sources_) {
    if (source) source->RemoveListener(this);
  }
  if (OwnsOutput() && !Stays()) {
    if (rest_) rest_->Supersede();
    if (root() && context_.store.Find(entry_->object) == output_) {
      context_.store.Remove(entry_->object);
    }
    output_->Void(store::VoidReason::kRecalled);
  }
  interest_.reset();
  rest_.reset();
  loan_.reset();
  output_.reset();
  sources_.clear();
  accumulator_.reset();
}

}  // namespace hoplite::node
