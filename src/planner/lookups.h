// Lookups: who hears what an object is and where it lies.
//
// Decides: when a request for an object is answered, and with what. Is told: Locates and
// subscriptions. Must never: answer with an object whose bytes nobody has, or list whoever only
// asked as a holder.
#pragma once

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/object_book.h"
#include "planner/owner_book.h"
#include "planner/post.h"
#include "planner/words.h"

namespace hoplite::planner {

class Lookups {
 public:
  // Writes into the objects, reads the owners; all outlive it.
  Lookups(ObjectBook& objects, const OwnerBook& owners, Post& post)
      : objects_(objects), owners_(owners), post_(post) {}

  void On(NodeId node, const Locate& event);
  void On(NodeId node, const CancelLocate& event);
  void On(NodeId node, const Subscribe& event);
  void On(NodeId node, const Unsubscribe& event);
  // Answers the Locates of the object once it exists.
  void ResolveLocates(const ObjectId& id, ObjectRecord& record);
  // Whoever relies on an owner hears that there is none (R59).
  void AnswerUnowned(const ObjectId& id, ObjectRecord& record);

 private:
  ObjectBook& objects_;
  const OwnerBook& owners_;
  Post& post_;
};

}  // namespace hoplite::planner
