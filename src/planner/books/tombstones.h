// Tombstones: which objects were deleted, and until when their ids are blocked (R17).
//
// Decides: whether a tombstone counts now, and what two tombstones of one object come to. Is told:
// deletions, tombstones that nodes repeat, and the versions of copies that appear. Must never: let a
// repeated tombstone make an object void that was put after it. A value type; O(log n) per call.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include <hoplite/object_id.h>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "planner/words/expiring.h"

namespace hoplite::planner {

class Tombstones {
 public:
  // Newer than what it deletes, older than what is put after it.
  struct Entry {
    Version version;
    bool repeated = false;  // by a node: it may have ended before, and the object been put again
    bool unowned = false;   // nobody owned the object any more
  };

  // The newer version counts, and the longer time; a tombstone is a repeated one if nothing else is
  // known.
  void Insert(const ObjectId& id, const Entry& entry, Time until, Time now);
  // A copy of this version shows that the tombstone, if it is a repeated one, had ended.
  void EraseIfOlder(const ObjectId& id, Version version);
  // Clears away what ended: at most so many.
  void Expire(Time now, std::size_t most);

  // When the tombstone of the object ends; none: it has none.
  std::optional<Time> Until(const ObjectId& id, Time now) const { return ends_.Until(id, now); }
  // Of an object that has a tombstone.
  Version VersionOf(const ObjectId& id) const { return tombstones_.at(id).version; }
  // Why nothing of that name may be made now, in words; empty: it may.
  std::string WhyBlocked(const ObjectId& id, Time now) const;
  Time next() const { return ends_.next(); }
  bool Consistent() const;
  void AddTo(Digest& digest) const;

 private:
  Expiring<ObjectId> ends_;
  std::map<ObjectId, Entry> tombstones_;  // of the same objects
};

}  // namespace hoplite::planner
