#include "node/shard/inventory.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/clock.h"
#include "directory/word_bytes.h"
#include "node/core/held.h"
#include "node/owners/owners.h"
#include "node/pull/flight.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"
#include "node/registers/registers.h"

namespace hoplite::node {
namespace {

// Objects that one part looks at: those of other shards cost time, too.
constexpr std::size_t kMostLooks = 4096;
constexpr std::size_t kAtOnce = 256;  // taken from the store and the table

using directory::DirectoryClient;
using directory::WordBytes;

protocol::HeldBytes HeldBytesOf(const store::Copy& copy) {
  const auto bytes = copy.bytes();
  return {copy.object(), copy.version(),
          std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes.data()),
                                              bytes.size())};
}

}  // namespace

DirectoryClient::Part Inventory::Tell(std::size_t shard, const std::optional<ObjectId>& after,
                                      std::size_t bytes, const std::set<ObjectId>& told) {
  DirectoryClient::Part part;
  if (!after) part.events.emplace_back(Usage());
  part.reached = after;
  std::size_t counted = 0;
  std::size_t said = 0;
  for (std::size_t looks = 0; looks < kMostLooks && said < bytes;) {
    const std::vector<ObjectId> next = ObjectsAfter(shard, part.reached);
    if (next.empty()) {
      part.reached.reset();
      return part;
    }
    for (auto object = next.begin(); object != next.end() && said < bytes; ++object, ++looks) {
      part.reached = *object;
      const bool due = context_.ShardOf(*object) == shard && !told.contains(*object);
      if (due) TellOf(*object, part.events);
      while (counted < part.events.size()) said += WordBytes(part.events[counted++]);
    }
  }
  return part;
}

std::vector<protocol::NodeEvent> Inventory::Of(const ObjectId& object) {
  std::vector<protocol::NodeEvent> events;
  TellOf(object, events);
  return events;
}

DirectoryClient::Part Inventory::InlineBytes(std::size_t shard,
                                             const std::optional<ObjectId>& after,
                                             std::size_t bytes) {
  DirectoryClient::Part part;
  part.reached = after;
  std::size_t said = 0;
  for (std::size_t looks = 0; looks < kMostLooks && said < bytes;) {
    const std::vector<store::CopyPtr> next = context_.store.After(part.reached, kAtOnce);
    if (next.empty()) {
      part.reached.reset();
      return part;
    }
    for (auto copy = next.begin(); copy != next.end() && said < bytes; ++copy, ++looks) {
      part.reached = (*copy)->object();
      if (!KeptByShard(**copy, shard)) continue;
      part.events.emplace_back(HeldBytesOf(**copy));
      said += WordBytes(part.events.back());
    }
  }
  return part;
}

protocol::StoreUsage Inventory::Usage() const {
  const store::StoreUsage usage = context_.store.usage();
  const Counters& counters = context_.counters;
  Spiller* const spiller = context_.memory.spiller();
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(Now().time_since_epoch());
  return {.memory_bytes = usage.capacity_bytes,
          .used_bytes = usage.used_bytes,
          .corrupt_blocks = counters.corrupt_blocks,
          .received_bytes = counters.bytes_received,
          .sent_bytes = counters.bytes_sent,
          .told_at_us = static_cast<std::uint64_t>(now.count()),
          .disk_bytes = spiller == nullptr ? 0 : spiller->limit_bytes(),
          .disk_used_bytes = spiller == nullptr ? 0 : spiller->used_bytes(),
          .process = process_ ? process_() : ProcessUse{}};
}

// Whether its bytes are to lie in that shard, too.
bool Inventory::KeptByShard(const store::Copy& copy, std::size_t shard) const {
  return context_.ShardOf(copy.object()) == shard && copy.state() == store::CopyState::kFinal &&
         !copy.on_disk() && copy.layout().size_bytes <= context_.directory.inline_limit(shard) &&
         context_.store.KindOf(copy.object()) == store::CopyKind::kPrimary;
}

// The next objects, by id, that there may be something to say of. Looking up each behind the one
// before would be most of what a large inventory costs.
std::vector<ObjectId> Inventory::ObjectsAfter(std::size_t shard,
                                              const std::optional<ObjectId>& object) const {
  std::vector<ObjectId> held;
  for (const auto& copy : context_.store.After(object, kAtOnce)) held.push_back(copy->object());
  const auto& entries = context_.table.entries();
  auto entry = object ? entries.upper_bound(*object) : entries.begin();
  std::vector<ObjectId> known;
  for (; entry != entries.end() && known.size() < kAtOnce; ++entry) known.push_back(entry->first);
  std::vector<ObjectId> all;
  const auto add = [&all](const std::vector<ObjectId>& some) {
    std::vector<ObjectId> more;
    std::ranges::set_union(all, some, std::back_inserter(more));
    all = std::move(more);
  };
  add(held);
  add(known);
  add(context_.owners.After(shard, object, kAtOnce));
  add(context_.registers.After(shard, object, kAtOnce));
  // Beyond so many one of them may lack some.
  if (all.size() > kAtOnce) all.resize(kAtOnce);
  return all;
}

void Inventory::TellOf(const ObjectId& object, std::vector<protocol::NodeEvent>& events) {
  const EntryPtr entry = context_.table.Find(object);
  if (const store::CopyPtr copy = context_.store.Find(object)) TellCopy(*copy, entry, events);
  if (const auto owned = context_.owners.Inventory(object)) events.emplace_back(*owned);
  if (auto open = context_.registers.Inventory(object)) events.emplace_back(std::move(*open));
  if (entry) TellRequests(*entry, events);
}

void Inventory::TellCopy(const store::Copy& copy, const EntryPtr& entry,
                         std::vector<protocol::NodeEvent>& events) const {
  const bool sealed = copy.state() == store::CopyState::kFinal;
  const auto root = entry && !sealed ? entry->target() : nullptr;
  if (root && root->makes_all()) return;  // not committed: its slot speaks of it
  const bool fetching = entry && entry->flight() && entry->flight()->copy().get() == &copy;
  protocol::Held held = HeldOf(copy);
  const bool producing =
      entry && entry->publication() && entry->publication()->copy().get() == &copy;
  const bool making = root && root->output().get() == &copy;
  if (producing || making) held.produces = copy.made_here();
  held.primary = context_.store.KindOf(copy.object()) == store::CopyKind::kPrimary;
  if (fetching) held.upstreams = entry->flight()->TellUpstreams();
  events.emplace_back(std::move(held));
}

// Tombstones and open requests of one object.
void Inventory::TellRequests(const ObjectEntry& entry,
                             std::vector<protocol::NodeEvent>& events) const {
  const Time now = Now();
  if (entry.deleted(now))
    events.emplace_back(protocol::Tombstone{entry.object, entry.deletion().until() - now,
                                            entry.deletion().version()});
  if (entry.publication()) {
    if (auto create = entry.publication()->OpenCreate()) events.emplace_back(std::move(*create));
  }
  if (const auto& attempt = entry.withdrawal().attempt()) {
    events.emplace_back(protocol::Withdraw{entry.object, *attempt});
  }
  const std::uint64_t expects = entry.expectations().newest();
  if (entry.flight()) {
    if (auto locate = entry.flight()->OpenLocate()) events.emplace_back(*locate);
    if (auto want = entry.flight()->OpenWant()) events.emplace_back(std::move(*want));
  }
  if (entry.coordinator()) events.emplace_back(entry.coordinator()->Request());
  for (const auto& [number, here] : entry.slots()) here.slot->AppendInventory(events);
  if (entry.deletion().asked()) events.emplace_back(protocol::Delete{entry.object});
  if (entry.followers().any()) events.emplace_back(protocol::Subscribe{entry.object, expects});
}

}  // namespace hoplite::node
