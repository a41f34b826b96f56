// ShardWords: of reductions. Which coordinator or slot a word belongs to.
#include <fmt/format.h>

#include "base/log.h"
#include "node/pull/flight.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"
#include "node/shard/shard_words.h"

namespace hoplite::node {

template <typename Word>
void ShardWords::ToCoordinator(const Word& word) {
  const EntryPtr entry = context_.table.Find(word.object);
  if (entry && entry->coordinator()) entry->coordinator()->Hear(word);
}
template void ShardWords::ToCoordinator(const protocol::ReduceOpened&);
template void ShardWords::ToCoordinator(const protocol::ReduceRefused&);
template void ShardWords::ToCoordinator(const protocol::SlotLost&);

void ShardWords::On(const protocol::ReduceCommitted& committed) {
  ToCoordinator(committed);
  const EntryPtr entry = context_.table.Find(committed.object);
  const auto root = entry ? entry->target() : nullptr;
  if (root && root->version() == committed.version) root->OnCommitted();
}

void ShardWords::On(const protocol::SlotAssigned& assigned) {
  if (context_.table.stopped()) return;
  const EntryPtr entry = context_.table.At(assigned.object);
  const auto present = entry->slot(assigned.order.slot);
  if (present && present->version() >= assigned.version) return;  // repeated
  if (present) {
    ++context_.counters.slot_resets;
    context_.Note(Decided::kReset, assigned.object, fmt::format("slot {}", assigned.order.slot));
    present->Drop(store::VoidReason::kRecalled);
  }
  log::Debug("reduction into {}: slot {} version {}, {} children, {} own sources",
             assigned.object.ToHex(), assigned.order.slot, ToString(assigned.version),
             assigned.order.children, assigned.order.inputs.size());
  context_.Note(Decided::kSlot, assigned.object,
                fmt::format("{}, {} children, {} own sources", assigned.order.slot,
                            assigned.order.children, assigned.order.inputs.size()));
  const auto slot = std::make_shared<Slot>(context_, data_plane_, entry, assigned);
  entry->Begin(assigned.order.slot, {slot, slot->root(), slot->version()});
  slot->Start();
}

void ShardWords::On(const protocol::SlotFeed& feed) {
  const EntryPtr entry = context_.table.Find(feed.object);
  if (!entry) return;
  const auto slot = entry->slot(feed.slot);
  if (slot) slot->OnFeed(feed);
}

void ShardWords::On(const protocol::SlotDropped& dropped) {
  const EntryPtr entry = context_.table.Find(dropped.object);
  if (!entry) return;
  const auto slot = entry->slot(dropped.slot);
  if (slot && slot->version() <= dropped.version) slot->Drop(store::VoidReason::kRecalled);
}

// Those who wait for what ended get the error; what was made so far goes. What is newer is of another
// attempt, to which this is no answer, and neither is it to a question that was asked later (R69).
void ShardWords::On(const protocol::TargetAborted& aborted) {
  const EntryPtr entry = context_.table.Find(aborted.object);
  if (!entry) return;
  const Error error(aborted.code, aborted.message);
  const bool fetched = entry->flight() && entry->flight()->EndsBy(aborted);
  const auto made = entry->target();
  if (fetched || (made && made->version() <= aborted.version)) entry->Abort(error);
  Version next = aborted.version;
  ++next.sequence;
  DropCopies(*entry, next, store::VoidReason::kAborted, error);
  if (fetched) entry->flight()->OnAborted(error);
  entry->followers().TellFailed(error);
  entry->Changed();
}

}  // namespace hoplite::node
