// Slot: memory for its output, and what it can do without (R45).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "node/reduce/slot.h"

namespace hoplite::node {
namespace {

// A slot that got no memory for so long serves its sources as they are, and another folds them.
constexpr Duration kMemoryPatience = std::chrono::seconds(2);
// Before another slot of the same reduction may take memory that cannot be used yet.
constexpr Duration kHeldAtLeast = std::chrono::milliseconds(100);

}  // namespace

net::Task<bool> Slot::ReserveMemory() {
  if (!root() && order_.order.children == 0 && sources_.size() == 1) {
    output_ = sources_.front();
    co_return true;
  }
  const Time deadline = Now() + kMemoryPatience;
  MemoryBroker::Waiter waiter(context_.memory, changed_, entry_->object);
  const std::uint64_t size = order_.layout.size_bytes;
  while (!dropped_) {
    auto copy = waiter.Try(entry_->object, order_.layout, order_.metadata);
    if (copy) {
      output_ = std::move(*copy);
      reserved_at_ = Now();
      if (!root()) loan_.emplace(context_.memory, static_cast<MemoryBroker::Lender&>(*this));
      output_->set_version(order_.version);
      co_return !root() || ListTarget();
    }
    const bool hopeless = !context_.memory.fits_ever(size) || Now() >= deadline;
    if (hopeless && !failure_) {
      Fail(ErrorCode::kResourceExhausted,
           fmt::format("{} has no memory for a partial result of {} bytes", context_.settings.name,
                       size));
    }
    co_await changed_.Wait(failure_ ? kNever : std::min(deadline, Now() + kHeldAtLeast));
  }
  co_return false;
}

// --- memory that it can do without

// A slot that held memory for a while and still lacks an input gives it to another slot of the same
// reduction, which may produce that input. The first that has all its inputs keeps its memory.
bool Slot::Spares(const std::optional<ObjectId>& operation) const {
  if (!accumulator_ || gives_back_ || dropped_) return false;
  if (drained()) return true;
  const bool same = operation == entry_->object;
  const bool held = Now() >= reserved_at_ + kHeldAtLeast;
  return same && held && !HasProduced() && LacksAnInput();
}

void Slot::GiveBack() {
  if (context_.settings.planted(PlantedFault::kHoardsMemory)) return;
  log::Debug("{}: gives its memory back, {}", Name(), drained() ? "drained" : "lacks an input");
  gives_back_ = true;
  changed_.Notify();
}

bool Slot::HasProduced() const {
  return std::ranges::any_of(output_->marks(), [](std::uint32_t mark) { return mark > 0; });
}

bool Slot::LacksAnInput() const {
  return children_.size() < order_.order.children ||
         std::ranges::any_of(
             children_, [this](const auto& child) { return FoldedOf(child.second) == 0; });
}

// Whatever was folded is folded once more, in the same version: nobody has a byte of it, and others
// come first for a while; or its parent has all, and it waits until it is asked once more.
net::Task<void> Slot::LetGo() {
  const bool drained_before = drained();
  output_->Void(store::VoidReason::kGivenBack);
  co_await StopStreams();
  loan_.reset();
  accumulator_.reset();
  output_.reset();
  for (auto& [slot, child] : children_) {
    child.final_stripes = 0;
    child.failing_since = kNever;
    child.folded_when_failing = 0;
    child.next_try = Time::min();
  }
  stopping_ = final_ = false;
  context_.memory.OnSpace();
  const Time others_until = drained_before ? kNever : Now() + kHeldAtLeast;
  while (!dropped_ && drained() == drained_before && Now() < others_until) {
    ReportProgress();
    co_await changed_.Wait(std::min(others_until, reported_at_ + ReportEvery()));
  }
  gives_back_ = false;
}

void Slot::OnAsked(StripeMask stripes) {
  drained_ &= ~stripes;
  if (gives_back_) changed_.Notify();
}

void Slot::OnDrained(StripeMask stripes) {
  if (gives_back_ || !output_ || output_->state() != store::CopyState::kFinal) return;
  drained_ |= stripes;
  if (drained()) context_.memory.OnSpace();  // whoever waits may ask for it
}

}  // namespace hoplite::node
