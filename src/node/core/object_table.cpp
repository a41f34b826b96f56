#include "node/core/object_table.h"

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

}  // namespace hoplite::node
