// Lookups: who hears what an object is and where it lies.
//
// Decides: when a request for an object is answered, and with what; whether its bytes come with the
// answer, or from a holder (R67); whether it counts as a Want (R63). Is told: Locates and
// subscriptions. Must never: answer with an object whose bytes nobody has, or list whoever asked
// without room for it as a holder.
#pragma once

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/inline_pace.h"
#include "planner/node_table.h"
#include "planner/object_book.h"
#include "planner/owner_book.h"
#include "planner/post.h"
#include "planner/shard_clock.h"
#include "planner/transfers.h"
#include "planner/versions.h"
#include "planner/words.h"

namespace hoplite::planner {

class Lookups {
 public:
  // Writes into the objects and the pace, reads the others; all outlive it.
  Lookups(const ShardClock& clock, const NodeTable& nodes, ObjectBook& objects,
          InlinePace& inline_pace, const OwnerBook& owners, Post& post, Versions& versions,
          Transfers& transfers)
      : clock_(clock),
        nodes_(nodes),
        objects_(objects),
        inline_pace_(inline_pace),
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
  // Whether the directory has the bytes, and they come with the answer.
  bool ComesInline(ObjectRecord& record, NodeId node, bool has_room);

  const ShardClock& clock_;
  const NodeTable& nodes_;
  ObjectBook& objects_;
  InlinePace& inline_pace_;
  const OwnerBook& owners_;
  Post& post_;
  Versions& versions_;
  Transfers& transfers_;
};

}  // namespace hoplite::planner
