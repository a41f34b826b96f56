#include "node/memory/memory_broker.h"

#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "node/memory/largest_objects.h"
#include "protocol/failure.h"

namespace hoplite::node {
namespace {

constexpr Duration kWordsLast = std::chrono::milliseconds(100);

Result<store::CopyPtr> OutOfTurn() {
  return std::unexpected(
      Error(ErrorCode::kResourceExhausted, "no room now: others have waited for memory longer"));
}

}  // namespace

MemoryBroker::MemoryBroker(store::ObjectStore& store, directory::DirectoryClient& directory,
                           const Rooms::Limits& rooms)
    : store_(store), directory_(directory), rooms_(store, rooms) {}

Error MemoryBroker::TooLarge(const ObjectId& object, const Layout& layout) const {
  return store_.Create(object, layout, "", store::CopyKind::kTransient).error();
}

std::uint64_t MemoryBroker::WindowBytes(const Layout& layout) const {
  return planner::MemoryState::WindowBytes(layout, store_.usage().capacity_bytes);
}

std::unique_ptr<Rooms::Room> MemoryBroker::TakeRoom(Time now, std::function<void()> on_lost) {
  if (state_.waited_for()) return nullptr;
  return rooms_.Take(now, std::move(on_lost));
}

void MemoryBroker::OnEvictAnswer(const protocol::EvictAnswer& answer) {
  const store::CopyPtr copy = store_.Find(answer.object);
  const auto present = copy ? std::optional(copy->version()) : std::nullopt;
  switch (state_.On(answer, present)) {
    case planner::MemoryState::Fate::kNone:
      break;
    case planner::MemoryState::Fate::kGoes:
      store_.Remove(answer.object);
      break;
    case planner::MemoryState::Fate::kStays:
      store_.MakePrimary(answer.object);
      break;
  }
  OnSpace();
}

void MemoryBroker::OnSpace() {
  planner::MemoryState::Effects effects;
  state_.OnSpace(free_bytes(), effects);
  Carry(effects);
}

void MemoryBroker::Tick() {
  planner::MemoryState::Effects effects;
  state_.OnTick(free_bytes(), effects);
  Carry(effects);
}

void MemoryBroker::Carry(const planner::MemoryState::Effects& effects) {
  for (const protocol::EvictAsk& ask : effects.ask) directory_.Send(ask);
  if (effects.give_back != nullptr) effects.give_back->GiveBack();
  for (const planner::MemoryState::Place place : effects.wake) waiting_.at(place)->Notify();
}

std::string MemoryBroker::WhyNone(std::uint64_t bytes) {
  const store::StoreUsage usage = store_.usage();
  std::string words = fmt::format("{} {} bytes: {}", protocol::kNoMemory, bytes, UseInWords());
  if (usage.largest_hole_bytes >= bytes) {
    words += "; others, which have waited longer, come first";
  } else if (usage.free_bytes >= bytes) {
    words +=
        fmt::format("; the free ones lie in pieces of at most {} bytes", usage.largest_hole_bytes);
  }
  return words;
}

// As of kWordsLast ago at most.
const std::string& MemoryBroker::UseInWords() {
  const Time now = Now();
  if (words_at_ != Time::min() && now - words_at_ < kWordsLast) return use_in_words_;
  words_at_ = now;
  const std::string use = store_.Use().InWords();
  const std::string kept = kept_by_clients_ ? kept_by_clients_() : "";
  use_in_words_ = store_.usage().InWords();
  const std::string largest = LargestInWords(store_);
  if (!use.empty()) use_in_words_ += ": " + use;
  if (!largest.empty()) use_in_words_ += "; " + largest;
  if (!kept.empty()) use_in_words_ += "; " + kept;
  if (spiller_ != nullptr) use_in_words_ += "; " + spiller_->InWords();
  if (state_.questions() > 0) {
    use_in_words_ +=
        fmt::format("; the directory has not answered yet whether {} of these may be evicted",
                    state_.questions());
  }
  return use_in_words_;
}

std::vector<protocol::EvictAsk> MemoryBroker::Movable(const std::vector<ObjectId>& copies) const {
  std::vector<protocol::EvictAsk> movable;
  for (const ObjectId& object : copies) {
    movable.push_back({object, store_.Find(object)->version()});
  }
  return movable;
}

// What a lender gives back costs no write.
void MemoryBroker::FoundNone(planner::MemoryState::Place place, std::uint64_t bytes,
                             planner::MemoryState::Effects& effects) {
  if (spiller_ == nullptr) {
    return state_.FoundNone(place, Movable(store_.Victims(bytes)), free_bytes(), effects);
  }
  const store::ObjectStore::Outflow outflow = spiller_->Outflow(bytes);
  state_.FoundNone(place, Movable(outflow.relayed), free_bytes(), effects);
  if (effects.give_back == nullptr) spiller_->MakeRoom(bytes, outflow);
}

std::optional<Time> MemoryBroker::DiskWorksUntil(Duration patience, Time now) const {
  if (spiller_ == nullptr || spiller_->moved_at() == Time::min()) return std::nullopt;
  const Time until = spiller_->moved_at() + patience;
  return until > now ? std::optional(until) : std::nullopt;
}

bool MemoryBroker::disk_works() const {
  return DiskWorksUntil(std::chrono::seconds(1), Now()).has_value();
}

std::uint64_t MemoryBroker::free_bytes() const { return store_.usage().free_bytes; }

Result<store::CopyPtr> MemoryBroker::Waiter::Try(const ObjectId& object, const Layout& layout,
                                                 const std::string& metadata) {
  const std::uint64_t bytes = layout.size_bytes;
  if (!memory_.fits_ever(bytes)) return std::unexpected(memory_.TooLarge(object, layout));
  if (!HasTurn(bytes)) return OutOfTurn();
  return Looked(bytes, [&] {
    return memory_.store_.Create(object, layout, metadata, store::CopyKind::kTransient);
  });
}

Result<store::CopyPtr> MemoryBroker::Waiter::TryWindow(const ObjectId& object, const Layout& layout,
                                                       const std::string& metadata) {
  const std::uint64_t bytes = memory_.WindowBytes(layout);
  if (!HasTurn(bytes)) return OutOfTurn();
  return Looked(bytes,
                [&] { return memory_.store_.CreateWindow(object, layout, metadata, bytes); });
}

bool MemoryBroker::Waiter::HasTurn(std::uint64_t bytes) {
  if (!place_) {
    place_ = memory_.state_.Enter(bytes, operation_, memory_.free_bytes());
    memory_.waiting_.emplace(*place_, &signal_);
  }
  planner::MemoryState::Effects effects;
  const bool may_look = memory_.state_.MayLook(*place_, effects);
  memory_.Carry(effects);
  return may_look;
}

// What others hold while they merely ask is as good as free.
template <typename Look>
Result<store::CopyPtr> MemoryBroker::Waiter::Looked(std::uint64_t bytes, Look look) {
  Result<store::CopyPtr> found = look();
  while (!found && memory_.rooms_.GiveUpOldest()) found = look();
  planner::MemoryState::Effects effects;
  if (found) {
    memory_.waiting_.erase(*place_);
    memory_.state_.Found(*std::exchange(place_, std::nullopt), memory_.free_bytes(), effects);
  } else {
    memory_.FoundNone(*place_, bytes, effects);
  }
  memory_.Carry(effects);
  return found;
}

void MemoryBroker::Waiter::Leave() {
  if (!place_) return;
  planner::MemoryState::Effects effects;
  memory_.waiting_.erase(*place_);
  memory_.state_.Leave(*std::exchange(place_, std::nullopt), memory_.free_bytes(), effects);
  memory_.Carry(effects);
}

}  // namespace hoplite::node
