// Post: what nodes are told of an object, in the words of the shard.
//
// Decides: whom a message reaches at all: a node with a session; and who hears of a change: whoever
// subscribed or waits. Is told: what to say. Must never: change a record.
#pragma once

#include <cstdint>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/books/ended_reductions.h"
#include "planner/books/object_record.h"
#include "planner/books/outbox.h"
#include "planner/books/tombstones.h"
#include "planner/copies/node_table.h"
#include "planner/words/shard_clock.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class Post {
 public:
  // Writes into the outbox and reads the others; all outlive it.
  Post(Outbox& outbox, const NodeTable& nodes, const Tombstones& tombstones,
       const EndedReductions& ended, const ShardClock& clock)
      : outbox_(outbox), nodes_(nodes), tombstones_(tombstones), ended_(ended), clock_(clock) {}

  void Send(NodeId to, NodeAction body, MoveReason why = MoveReason::kNone);
  // Subscribers hear what became of the node's copy; kNoNode: of the bytes in the directory.
  void Notify(const ObjectId& id, const ObjectRecord& record, NodeId node, LocationKind kind);
  void NotifyOne(NodeId to, const ObjectId& id, const ObjectRecord& record, NodeId node,
                 LocationKind kind);
  // Whoever waits for the object hears who had it last.
  void TellLost(const ObjectId& id, const ObjectRecord& record);
  // Answers Deleted and returns true if the object has a tombstone.
  bool AnswerDeleted(const ObjectId& id, NodeId node);
  // Answers TargetAborted and returns true if this version was of a reduction that failed; none: any
  // version of the object. `question`: of the Locate that it answers.
  bool AnswerFailed(const ObjectId& id, NodeId node, Version version = {},
                    std::uint64_t question = 0);

 private:
  Location LocationOf(const ObjectId& id, const ObjectRecord& record, NodeId node,
                      LocationKind kind) const;

  Outbox& outbox_;
  const NodeTable& nodes_;
  const Tombstones& tombstones_;
  const EndedReductions& ended_;
  const ShardClock& clock_;
};

}  // namespace hoplite::planner
