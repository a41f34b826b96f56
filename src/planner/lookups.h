// Lookups: who hears what an object is and where it lies.
//
// Decides: when a request for an object is answered, and with what; whether it counts as a Want
// (R63). Is told: Locates and subscriptions. Must never: answer with an object whose bytes nobody
// has, or list whoever asked without room for it as a holder.
#pragma once

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/object_book.h"
#include "planner/owner_book.h"
#include "planner/post.h"
#include "planner/transfers.h"
#include "planner/versions.h"
#include "planner/words.h"

namespace hoplite::planner {

class Lookups {
 public:
  // Writes into the objects, reads the owners; all outlive it.
  Lookups(ObjectBook& objects, const OwnerBook& owners, Post& post, Versions& versions,
          Transfers& transfers)
      : objects_(objects),
        owners_(owners),
        post_(post),
        versions_(versions),
        transfers_(transfers) {}

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
  Versions& versions_;
  Transfers& transfers_;
};

}  // namespace hoplite::planner
