// Core: what the node repeats to a shard after each (re)connect: the truth about its copies,
// deletion marks and open requests (docs/protocol.md, R15).
#include <algorithm>
#include <iterator>

#include "node/coordinator.h"
#include "node/core.h"
#include "node/fetch.h"
#include "node/publication.h"
#include "node/slot.h"

namespace hoplite::node {

std::vector<planner::NodeEvent> Core::Inventory(std::size_t shard) {
  std::vector<planner::NodeEvent> events;
  std::vector<planner::NodeEvent> bytes;
  for (const store::CopyPtr& copy : services_.store.List()) {
    if (ShardOf(copy->object()) != shard) continue;
    const EntryPtr entry = services_.table.Find(copy->object());
    const bool sealed = copy->state() == store::CopyState::kFinal;
    if (entry && entry->target() && !sealed) continue;  // not committed: its slot speaks of it
    const bool fetching = entry && entry->fetch && entry->fetch->copy() == copy;
    planner::Held held;
    held.object = copy->object();
    held.version = copy->version();
    held.layout = copy->layout();
    held.metadata = copy->metadata();
    held.marks = copy->marks();
    held.complete = sealed;
    held.producing = entry && entry->publication && entry->publication->copy() == copy;
    held.primary = services_.store.KindOf(copy->object()) == store::CopyKind::kPrimary;
    held.upstream = fetching ? entry->fetch->upstream() : kNoNode;
    if (held.primary && held.complete &&
        copy->layout().size_bytes <= services_.settings.inline_limit_bytes) {
      bytes.emplace_back(planner::HeldBytes{
          copy->object(), copy->version(),
          std::make_shared<const std::string>(reinterpret_cast<const char*>(copy->bytes().data()),
                                              copy->bytes().size())});
    }
    events.emplace_back(std::move(held));
  }
  for (const auto& [object, entry] : services_.table.entries()) {
    if (ShardOf(object) == shard) AppendInventory(*entry, events);
  }
  events.emplace_back(Usage());
  std::ranges::move(bytes, std::back_inserter(events));
  return events;
}

// Tombstones and open requests of one object.
void Core::AppendInventory(const ObjectEntry& entry,
                           std::vector<planner::NodeEvent>& events) const {
  const Time now = services_.clock.Now();
  if (entry.deleted(now))
    events.emplace_back(
        planner::Tombstone{entry.object, entry.deleted_until - now, entry.deletion});
  if (entry.publication) {
    if (auto create = entry.publication->OpenCreate()) events.emplace_back(std::move(*create));
  }
  const bool forgets = services_.settings.planted(Twin::kLosesParkedRequests);
  if (entry.fetch && !forgets) {
    if (entry.fetch->locating()) events.emplace_back(planner::Locate{entry.object});
    if (auto want = entry.fetch->OpenWant()) events.emplace_back(std::move(*want));
  }
  if (entry.coordinator) events.emplace_back(entry.coordinator->Request());
  for (const auto& [number, slot] : entry.slots) slot->AppendInventory(events);
  if (entry.open_deletes > 0) events.emplace_back(planner::Delete{entry.object});
  const bool subscribed =
      std::ranges::any_of(entry.subscribers, [](const auto& s) { return !s.expired(); });
  if (subscribed) events.emplace_back(planner::Subscribe{entry.object});
}

}  // namespace hoplite::node
