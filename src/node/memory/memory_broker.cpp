#include "node/memory/memory_broker.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace hoplite::node {
namespace {

// A window has so many bytes, but at most this part of a small store.
constexpr std::uint64_t kWindowBytes = 4_MiB;
constexpr std::uint64_t kWindowPart = 4;

}  // namespace

MemoryBroker::MemoryBroker(store::ObjectStore& store, directory::DirectoryClient& directory)
    : store_(store), directory_(directory) {}

Result<store::CopyPtr> MemoryBroker::Try(const ObjectId& object, const Layout& layout,
                                         const std::string& metadata,
                                         const std::optional<ObjectId>& operation) {
  auto copy = store_.Create(object, layout, metadata, store::CopyKind::kTransient);
  const bool full = !copy && copy.error().code == ErrorCode::kResourceExhausted;
  if (full && fits_ever(layout.size_bytes)) {
    AskForEvictions(layout.size_bytes);
    AskLenders(operation);
  }
  return copy;
}

// One at a time: whoever waits tries again when its memory is back.
void MemoryBroker::AskLenders(const std::optional<ObjectId>& operation) {
  for (const auto& [number, lender] : lenders_) {
    if (lender->Spares(operation)) return lender->GiveBack();
  }
}

bool MemoryBroker::hoarded() const {
  return std::ranges::any_of(waiting_, [this](const auto& waiting) {
    const std::optional<ObjectId>& operation = waiting.second.operation;
    return operation && std::ranges::any_of(lenders_, [&](const auto& lender) {
             return lender.second->Spares(operation);
           });
  });
}

Result<store::CopyPtr> MemoryBroker::TryWindow(const ObjectId& object, const Layout& layout,
                                               const std::string& metadata) {
  auto window = store_.CreateWindow(object, layout, metadata, WindowBytes(layout));
  if (!window) AskForEvictions(WindowBytes(layout));
  return window;
}

std::uint64_t MemoryBroker::WindowBytes(const Layout& layout) const {
  const std::uint64_t bytes = std::min(kWindowBytes, store_.usage().capacity_bytes / kWindowPart);
  return std::max<std::uint64_t>(bytes / layout.block_bytes, 1) * layout.block_bytes;
}

void MemoryBroker::AskForEvictions(std::uint64_t bytes) {
  for (const ObjectId& victim : store_.Victims(bytes)) {
    const store::CopyPtr candidate = store_.Find(victim);
    if (!asked_.insert(victim).second) continue;
    directory_.Send(planner::EvictAsk{victim, candidate->version()});
  }
}

void MemoryBroker::OnEvictAnswer(const planner::EvictAnswer& answer) {
  asked_.erase(answer.object);
  const store::CopyPtr copy = store_.Find(answer.object);
  if (copy && copy->version() == answer.version) {
    if (answer.drop) {
      store_.Remove(answer.object);
    } else {
      store_.MakePrimary(answer.object);
    }
  }
  OnSpace();
}

void MemoryBroker::Wake(const std::vector<MemoryQueue::Place>& places) {
  for (const MemoryQueue::Place place : places) waiting_.at(place).signal->Notify();
}

std::uint64_t MemoryBroker::free_bytes() const {
  const store::StoreUsage usage = store_.usage();
  return usage.capacity_bytes - usage.used_bytes;
}

Result<store::CopyPtr> MemoryBroker::Waiter::Try(const ObjectId& object, const Layout& layout,
                                                 const std::string& metadata) {
  const bool may_fit = memory_.fits_ever(layout.size_bytes);
  if (may_fit && !HasTurn(layout.size_bytes)) return OutOfTurn();
  return Looked(memory_.Try(object, layout, metadata, operation_));
}

Result<store::CopyPtr> MemoryBroker::Waiter::TryWindow(const ObjectId& object, const Layout& layout,
                                                       const std::string& metadata) {
  if (!HasTurn(memory_.WindowBytes(layout))) return OutOfTurn();
  return Looked(memory_.TryWindow(object, layout, metadata));
}

// Memory of its own operation may come back all the same.
Result<store::CopyPtr> MemoryBroker::Waiter::OutOfTurn() {
  memory_.AskLenders(operation_);
  return std::unexpected(
      Error(ErrorCode::kResourceExhausted, "no room now: others have waited for memory longer"));
}

bool MemoryBroker::Waiter::HasTurn(std::uint64_t bytes) {
  if (!place_) {
    place_ = memory_.line_.Enter(bytes, memory_.free_bytes());
    memory_.waiting_.emplace(*place_, Waiting{&signal_, operation_});
  }
  return memory_.line_.MayLook(*place_);
}

Result<store::CopyPtr> MemoryBroker::Waiter::Looked(Result<store::CopyPtr> found) {
  if (place_ && found) {
    memory_.line_.Served(*place_);
    Leave();
  } else if (place_) {
    memory_.Wake(memory_.line_.Failed(*place_, memory_.free_bytes()));
  }
  return found;
}

void MemoryBroker::Waiter::Leave() {
  if (!place_) return;
  memory_.waiting_.erase(*place_);
  const MemoryQueue::Place left = *std::exchange(place_, std::nullopt);
  memory_.Wake(memory_.line_.Leave(left, memory_.free_bytes()));
}

}  // namespace hoplite::node
