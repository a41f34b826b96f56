// Deletion: what a Delete takes along (R17).
//
// Decides: what of an object ends, and who hears of it. Is told: Deletes, tombstones that nodes repeat,
// and what nobody owns any more. Must never: delete what was put, or owned, after the tombstone.
#pragma once

#include <set>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/time.h"
#include "planner/books/object_book.h"
#include "planner/books/owner_book.h"
#include "planner/books/tombstones.h"
#include "planner/shard/post.h"
#include "planner/shard/reduction_requests.h"
#include "planner/shard/versions.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class Deletion {
 public:
  // Writes into the tombstones, the owners and the objects, takes versions from the stamps; all outlive
  // it. A tombstone lasts for `lifetime`.
  Deletion(const ShardClock& clock, Stamps& stamps, ObjectBook& objects, Tombstones& tombstones,
           OwnerBook& owners, Post& post, Versions& versions, ReductionRequests& reductions,
           Duration lifetime)
      : clock_(clock),
        stamps_(stamps),
        objects_(objects),
        tombstones_(tombstones),
        owners_(owners),
        post_(post),
        versions_(versions),
        reductions_(reductions),
        lifetime_(lifetime) {}

  void On(NodeId node, const Delete& event);
  void On(NodeId node, const Tombstone& event);
  // Nobody owns the object any more: as if somebody deleted it.
  void EndUnowned(const ObjectId& id) {
    Bury(id, lifetime_, {.version = stamps_.NextVersion(), .unowned = true}, {});
  }

 private:
  // `told` and everybody concerned hear of it.
  void Bury(const ObjectId& id, Duration lifetime, const Tombstones::Entry& tombstone,
            std::set<NodeId> told);
  // Adds everybody whom it concerns to `told`.
  void EndObject(const ObjectId& id, ObjectRecord& record, std::set<NodeId>& told);

  const ShardClock& clock_;
  Stamps& stamps_;
  ObjectBook& objects_;
  Tombstones& tombstones_;
  OwnerBook& owners_;
  Post& post_;
  Versions& versions_;
  ReductionRequests& reductions_;
  Duration lifetime_;
};

}  // namespace hoplite::planner
