// Eviction: whether a node may drop a copy (R18).
//
// Decides: that it may, may not, or has to wait until nobody pulls from it; and whether the node
// that is to take the last copy is told so (R70). Is told: who wants to drop a copy. Must never: let
// the last complete copy go.
#pragma once

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/books/object_book.h"
#include "planner/books/recovery_window.h"
#include "planner/copies/node_table.h"
#include "planner/shard/post.h"
#include "planner/shard/versions.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class Eviction {
 public:
  // Writes into the objects, and into the window what has to wait; all outlive it.
  Eviction(RecoveryWindow& window, const NodeTable& nodes, ObjectBook& objects, Post& post,
           Versions& versions)
      : window_(window), nodes_(nodes), objects_(objects), post_(post), versions_(versions) {}

  void On(NodeId node, const EvictAsk& event);
  // Answers those who want to drop a copy of the object, as far as they can be answered.
  void ResolveEvictions(const ObjectId& id, ObjectRecord& record);

 private:
  static bool HasAnother(const ObjectRecord& record);

  RecoveryWindow& window_;
  const NodeTable& nodes_;
  ObjectBook& objects_;
  Post& post_;
  Versions& versions_;
};

}  // namespace hoplite::planner
