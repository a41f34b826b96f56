// ObjectTable: the entries of the objects that this node is doing something about. Main loop only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "node/core/object_entry.h"

namespace hoplite::node {

class ObjectTable {
 public:
  ObjectTable() = default;
  ~ObjectTable();
  ObjectTable(const ObjectTable&) = delete;
  ObjectTable& operator=(const ObjectTable&) = delete;

  EntryPtr At(const ObjectId& object);    // made if it isn't there
  EntryPtr Find(const ObjectId& object);  // null if it isn't there
  // Forgets entries that say nothing any more.
  void Sweep(Time now);
  const std::map<ObjectId, EntryPtr>& entries() const { return entries_; }
  // Of a question about any of them: never 0, and never given before.
  std::uint64_t NewNumber() { return ++numbers_; }

  // Whoever waits, and new calls, are answered with the first such reason.
  void Close(const Error& why) {
    if (!stopped_) stopped_ = why;
  }
  const std::optional<Error>& stopped() const { return stopped_; }

 private:
  std::map<ObjectId, EntryPtr> entries_;
  std::optional<Error> stopped_;
  std::uint64_t numbers_ = 0;
};

}  // namespace hoplite::node
