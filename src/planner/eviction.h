// Eviction: whether a node may drop a copy (R18).
//
// Decides: that it may, may not, or has to wait until nobody pulls from it. Is told: who wants to
// drop a copy. Must never: let the last complete copy go.
#pragma once

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/object_book.h"
#include "planner/post.h"
#include "planner/recovery_window.h"
#include "planner/versions.h"
#include "planner/words.h"

namespace hoplite::planner {

class Eviction {
 public:
  // Writes into the objects, and into the window what has to wait; all outlive it.
  Eviction(RecoveryWindow& window, ObjectBook& objects, Post& post, Versions& versions)
      : window_(window), objects_(objects), post_(post), versions_(versions) {}

  void On(NodeId node, const EvictAsk& event);
  // Answers those who want to drop a copy of the object, as far as they can be answered.
  void ResolveEvictions(const ObjectId& id, ObjectRecord& record);

 private:
  RecoveryWindow& window_;
  ObjectBook& objects_;
  Post& post_;
  Versions& versions_;
};

}  // namespace hoplite::planner
