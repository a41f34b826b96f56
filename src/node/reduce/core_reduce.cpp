// Core: reductions. Which coordinator or slot a word of the shard belongs to, and how a local
// client's Reduce starts.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/try.h"
#include "node/core.h"
#include "node/pull/flight.h"
#include "node/pull/subscription.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"

namespace hoplite::node {
net::Task<Result<ReduceOutcome>> Core::Reduce(ReduceOptions options, CallPtr call) {
  if (options.target == ObjectId()) options.target = ObjectId::Random();
  CO_TRY(planner::CheckReduceOptions(options));
  const EntryPtr entry = context_.table.At(options.target);
  CO_TRY(Usable(*entry));
  if (entry->coordinator || entry->publication) {
    co_return std::unexpected(
        Error(ErrorCode::kAlreadyExists,
              "object " + options.target.ToHex() + " is being made by another call already"));
  }
  entry->coordinator = std::make_shared<Coordinator>(context_, *this, entry, std::move(options),
                                                     call, ++reductions_);
  const auto coordinator = entry->coordinator;
  const WaitingCall waiting(entry, call);
  co_return co_await coordinator->Run();
}

std::shared_ptr<void> Core::Watch(ObjectId object,
                                  std::function<void(const planner::Location&)> on_location,
                                  std::function<void()> on_deleted,
                                  std::function<void(NodeId)> on_forgotten) {
  const EntryPtr entry = context_.table.At(object);
  const auto known = entry->locations;
  for (const auto& [node, location] : known) on_location(location);
  if (entry->deleted(Now())) on_deleted();
  return std::make_shared<Subscription>(
      context_.directory, entry,
      Subscriber{std::move(on_location), std::move(on_deleted), std::move(on_forgotten)});
}

template <typename Word>
void Core::ToCoordinator(const Word& word) {
  const EntryPtr entry = context_.table.Find(word.object);
  if (entry && entry->coordinator) entry->coordinator->On(word);
}
template void Core::ToCoordinator(const planner::ReduceOpened&);
template void Core::ToCoordinator(const planner::ReduceRefused&);
template void Core::ToCoordinator(const planner::SlotLost&);

void Core::On(const planner::ReduceCommitted& committed) {
  ToCoordinator(committed);
  const EntryPtr entry = context_.table.Find(committed.object);
  const auto root = entry ? entry->target() : nullptr;
  if (root && root->version() == committed.version) root->OnCommitted();
}

void Core::On(const planner::SlotAssigned& assigned) {
  if (stopped_) return;
  const EntryPtr entry = context_.table.At(assigned.object);
  std::shared_ptr<Slot>& slot = entry->slots[assigned.order.slot];
  if (slot && slot->version() >= assigned.version) return;  // repeated
  if (slot) slot->Drop(store::VoidReason::kRecalled);
  log::Debug("reduction into {}: slot {} version {}, {} children, {} own sources",
             assigned.object.ToHex(), assigned.order.slot, ToString(assigned.version),
             assigned.order.children, assigned.order.inputs.size());
  slot = std::make_shared<Slot>(context_, data_plane_, entry, assigned);
  slot->Start();
}

void Core::On(const planner::SlotFeed& feed) {
  const EntryPtr entry = context_.table.Find(feed.object);
  if (!entry) return;
  const auto slot = entry->slots.find(feed.slot);
  if (slot != entry->slots.end() && slot->second->version() == feed.version) {
    slot->second->OnFeed(feed);
  }
}

void Core::On(const planner::SlotDropped& dropped) {
  const EntryPtr entry = context_.table.Find(dropped.object);
  if (!entry) return;
  const auto slot = entry->slots.find(dropped.slot);
  if (slot != entry->slots.end() && slot->second->version() <= dropped.version) {
    slot->second->Drop(store::VoidReason::kRecalled);
  }
}

// Local waiters, and those of the flight, get the error; what was made so far goes.
void Core::On(const planner::TargetAborted& aborted) {
  const EntryPtr entry = context_.table.Find(aborted.object);
  if (!entry) return;
  const Error error(aborted.code, aborted.message);
  ++entry->aborts;
  entry->abort = error;
  DropCopies(*entry, kAllVersions, store::VoidReason::kAborted, error);
  if (entry->flight) entry->flight->OnAborted(error);
  entry->Changed();
}

}  // namespace hoplite::node
