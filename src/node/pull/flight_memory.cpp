// Flight: what it waits for before it says Want: memory, and its turn among the fetches of the
// node (R9, R45, R46); and the room that it holds while it asks, so that it waits for neither (R63).
#include <utility>

#include <fmt/format.h>

#include "node/pull/flight.h"
#include "node/pull/made_copy.h"
#include "node/pull/subscription.h"

namespace hoplite::node {
// A stripe that a stream brings is that stream's: it may write there. True: the copy is whole. (What
// a stream brought was said by then: these bytes are not its source's.)
bool Flight::TakeGiven() {
  if (!given_) return false;
  Fill(*copy_, *given_, state_->unfed());
  return Step(Marks());
}

// Bytes came with the answer: one copy for all who are told of this version while anybody has it,
// which the directory does not list.
net::Task<Result<store::CopyPtr>> Flight::TakeInline() {
  const store::CopyPtr shared = entry_->inlined();
  if (shared && shared->version() == inline_->version) co_return shared;
  const std::string& bytes = *inline_->bytes;
  const Layout layout = Layout::For(bytes.size());
  auto copy = co_await AwaitMemory(layout, inline_->metadata);
  if (!copy) co_return copy;
  Fill(**copy, bytes, layout.all_stripes());
  (*copy)->set_version(inline_->version);
  (*copy)->Seal();
  entry_->Share(*copy);
  co_return copy;
}

// Bytes that the shard keeps need no room; what a reduction depends on takes none from others.
planner::Question Flight::NextQuestion() {
  planner::Question question{.number = context_.table.NewNumber()};
  if (data_plane_.gate().full() || hurries_ || entry_->inlined()) return question;
  room_ = context_.memory.TakeRoom(Now(), [this] { LoseRoom(); });
  if (room_) question.room = room_->bytes();
  return question;
}

void Flight::LoseRoom() {
  planner::FlightState::Effects effects;
  state_->LoseRoom(effects, entry_->expectations().newest());
  Carry(effects);
  room_.reset();
}

// The shard has counted the question as a Want: the room, if it was not lost, becomes the copy before
// anything else can take its place. Its next word may be a Grant.
void Flight::UseRoom(planner::FlightState::Effects& effects) {
  room_.reset();
  if (!interrupted()) {
    const protocol::Located& located = *state_->located();
    MemoryBroker::Waiter waiter(context_.memory, changed_);
    auto copy = waiter.Try(entry_->object, located.layout, located.metadata);
    if (copy && Keep(std::move(*copy), false)) {
      return state_->Receive(Marks(), false, Now(), effects);
    }
    copy_.reset();
  }
  state_->Decline(effects);
}

// Nobody waits for memory while holding memory for the same object; nor is the node listed
// meanwhile. What there is memory for, as room or as a slot's output, waits for no turn either.
net::Task<bool> Flight::ReserveMemory() {
  if (copy_) {
    turn_.emplace(data_plane_.gate(), [] {});
    turn_->GoAtOnce();
    co_return state_->receiving() || !interrupted();
  }
  const protocol::Located located = *state_->located();
  const bool leaf = window_asked_ && !context_.memory.fits_ever(located.layout.size_bytes);
  if (leaf) {
    too_large_ = context_.memory.TooLarge(entry_->object, located.layout);
    entry_->Changed();
  }
  auto copy = co_await AwaitMemory(located.layout, located.metadata);
  if (interrupted()) co_return false;
  if (!copy) {
    error_ = copy.error();
    co_return false;
  }
  co_await AwaitTurn();
  if (interrupted()) {
    turn_.reset();
    co_return false;
  }
  const auto kept = Keep(std::move(*copy), leaf);
  if (!kept) error_ = kept.error();
  co_return kept.has_value();
}

Result<void> Flight::Keep(store::CopyPtr copy, bool leaf) {
  copy_ = std::move(copy);
  copy_->set_version(state_->located()->version);
  copy_->set_ever_owned(entry_->ever_owned());
  if (leaf) return {};
  return context_.store.List(copy_, store::CopyKind::kRelayed);
}

// The shard has answered the Locate and knows nothing of a wait that follows: it tells subscribers
// of a Delete, and where a newer version is.
void Flight::Follow(std::optional<Subscription>& watch) {
  if (watch) return;
  const auto newer = [this](const protocol::Location& place) { OnRecall(place.version); };
  watch.emplace(context_.directory, entry_, Subscriber{.on_location = newer});
  for (const auto& [node, place] : entry_->followers().places()) newer(place);
}

// Room for the object, or why there is none; an interrupted wait ends with the last answer.
net::Task<Result<store::CopyPtr>> Flight::AwaitMemory(Layout layout, std::string metadata) {
  MemoryBroker::Waiter waiter(context_.memory, changed_);
  std::optional<Subscription> watch;
  for (;;) {
    auto copy = too_large_ ? waiter.TryWindow(entry_->object, layout, metadata)
                           : waiter.Try(entry_->object, layout, metadata);
    const std::uint64_t bytes =
        too_large_ ? context_.memory.WindowBytes(layout) : layout.size_bytes;
    const bool may_fit = !copy && copy.error().code == ErrorCode::kResourceExhausted &&
                         context_.memory.fits_ever(bytes);
    if (!may_fit || interrupted()) {
      awaited_memory_.reset();
      co_return copy;
    }
    Follow(watch);
    if (awaited_memory_ != bytes) {
      awaited_memory_ = bytes;
      entry_->Changed();  // wakes the calls: one that itself holds this memory must not wait for it
    }
    co_await changed_.Wait();
  }
}

// It has memory, which the directory doesn't know of: nobody is sent here before it goes.
net::Task<void> Flight::AwaitTurn() {
  turn_.emplace(data_plane_.gate(), [this] { changed_.Notify(); });
  std::optional<Subscription> watch;
  while (turn_->waits() && !interrupted()) {
    if (state_->GoesAtOnce(hurries_, entry_->outgoing() > 0)) {
      turn_->GoAtOnce();
    } else {
      Follow(watch);
      co_await changed_.Wait();
    }
  }
}

void Flight::KeepOrLendTurn(const StripeMarks& marks) {
  turn_->SetIdle(state_->LendsTurn(copy_->layout().valid_bytes(marks), Now()));
}

std::string Flight::NoRoom() const {
  const std::uint64_t bytes =
      inline_ ? inline_->bytes->size() : state_->located()->layout.size_bytes;
  return context_.memory.WhyNone(bytes);
}

}  // namespace hoplite::node
