// ObjectBook: the record of each object, and which objects each node spoke of.
//
// Decides: nothing. Is told: who speaks of what. Must never: let the two sides disagree: a record
// names every node that spoke of its object, and each of these knows the object, but for those that
// a sweep has taken out of the node's hands and still has to visit. A value type.
#pragma once

#include <map>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/paged_set.h"
#include "planner/books/object_record.h"

namespace hoplite::planner {

class ObjectBook {
 public:
  using Objects = PagedSet<ObjectId>;

  const std::map<ObjectId, ObjectRecord>& records() const { return records_; }
  // Null: the shard knows nothing of it.
  ObjectRecord* Find(const ObjectId& id);
  const ObjectRecord* Find(const ObjectId& id) const;
  // The node, a member, speaks of the object: there is a record of it from now on.
  ObjectRecord& Touch(const ObjectId& id, NodeId node);
  // Forgets an object that has a record.
  void Erase(const ObjectId& id);

  // What the node spoke of, for a sweep; Return gives one of these back.
  Objects TakeSpokenOf(NodeId node);
  void Return(const ObjectId& id, NodeId node) { spoken_of_[node].insert(id); }
  bool SpokeOf(NodeId node, const ObjectId& id) const;

 private:
  std::map<ObjectId, ObjectRecord> records_;
  std::map<NodeId, Objects> spoken_of_;
};

}  // namespace hoplite::planner
