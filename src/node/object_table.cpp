#include "node/object_table.h"

#include "node/pull/flight.h"
#include "node/put/publication.h"
#include "node/reduce/slot.h"

namespace hoplite::node {

// A Put or a flight that was never answered still refers to its entry, and the entry to it.
ObjectTable::~ObjectTable() {
  for (const auto& [object, entry] : entries_) entry->Clear();
}

EntryPtr ObjectTable::At(const ObjectId& object) {
  EntryPtr& entry = entries_[object];
  if (!entry) entry = std::make_shared<ObjectEntry>(object);
  return entry;
}

EntryPtr ObjectTable::Find(const ObjectId& object) {
  const auto found = entries_.find(object);
  return found == entries_.end() ? nullptr : found->second;
}

void ObjectTable::Sweep(Time now) {
  std::erase_if(entries_, [now](const auto& item) { return item.second->idle(now); });
}

void ObjectTable::Stop(const Error& why) {
  if (!stopped_) stopped_ = why;
  for (const auto& [object, entry] : entries_) {
    if (entry->flight()) entry->flight()->Stop(why);
    for (const auto& [number, slot] : entry->slots()) slot->Drop(store::VoidReason::kLost);
    const auto publication = entry->publication();
    if (publication && !publication->accepted()) publication->Refuse(why);
    entry->Changed();
  }
}

}  // namespace hoplite::node
