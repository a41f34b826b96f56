// Visits: what a change of a member's standing means for one object that it spoke of (R13-R15).
//
// Decides: what of the object survives the end of a session, what a loss takes along, what an
// inventory's end shows to be gone. Is told: the visits of a sweep, in order. Must never: tell the
// node itself anything of its going: it may be back by now, and is answered in its inventory.
#pragma once

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/books/agenda.h"
#include "planner/books/object_book.h"
#include "planner/books/outbox.h"
#include "planner/books/sweeps.h"
#include "planner/shard/ownership.h"
#include "planner/shard/reduction_requests.h"
#include "planner/shard/versions.h"

namespace hoplite::planner {

class Visits {
 public:
  // Writes into the objects and the agenda; all outlive it.
  Visits(ObjectBook& objects, Agenda& agenda, Outbox& outbox, Versions& versions,
         ReductionRequests& reductions, Ownership& ownership)
      : objects_(objects),
        agenda_(agenda),
        outbox_(outbox),
        versions_(versions),
        reductions_(reductions),
        ownership_(ownership) {}

  void Pay(const Visit& visit, const ObjectId& id);

 private:
  void Suspend(const ObjectId& id, ObjectRecord& record, NodeId node);
  static void ForgetRequests(ObjectRecord& record, NodeId node);
  void Lose(const ObjectId& id, ObjectRecord& record, NodeId node);
  void EndInventory(const ObjectId& id, ObjectRecord& record, NodeId node);

  ObjectBook& objects_;
  Agenda& agenda_;
  Outbox& outbox_;
  Versions& versions_;
  ReductionRequests& reductions_;
  Ownership& ownership_;
};

}  // namespace hoplite::planner
