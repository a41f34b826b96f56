// ReductionRequests: what coordinators ask for, and how a reduction begins and ends (R29, R35,
// R36).
//
// Decides: who may make a target; whether an order of the coordinator, or a plan as a whole, can be
// carried out; whom the end of a reduction concerns, also later. Is told: the coordinators' words,
// and what becomes of the coordinators. Must never: let two make one target, or keep a reduction
// that is open without its coordinator.
#pragma once

#include <cstdint>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "planner/books/agenda.h"
#include "planner/books/ended_reductions.h"
#include "planner/books/object_book.h"
#include "planner/books/recovery_window.h"
#include "planner/books/tombstones.h"
#include "planner/copies/node_table.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/ownership.h"
#include "planner/shard/post.h"
#include "planner/shard/reduction_orders.h"
#include "planner/shard/shard_folds.h"
#include "planner/shard/versions.h"
#include "planner/words/shard_clock.h"

namespace hoplite::planner {

class ReductionRequests {
 public:
  // Writes into the objects, the agenda, and the window what has to wait; reads the others. All
  // outlive it.
  ReductionRequests(const DirectoryOptions& options, const ShardClock& clock,
                    RecoveryWindow& window, const NodeTable& nodes, ObjectBook& objects,
                    const Tombstones& tombstones, EndedReductions& ended, Agenda& agenda,
                    Post& post, const Versions& versions, ReductionOrders& orders,
                    Ownership& ownership, ShardFolds& folds)
      : options_(options),
        clock_(clock),
        window_(window),
        nodes_(nodes),
        objects_(objects),
        tombstones_(tombstones),
        ended_(ended),
        agenda_(agenda),
        post_(post),
        versions_(versions),
        orders_(orders),
        ownership_(ownership),
        folds_(folds) {}

  void On(NodeId node, const ReduceOpen& event);
  void On(NodeId node, const ReduceShape& event);
  void On(NodeId node, const ReduceOrders& event);
  void On(NodeId node, const ReduceClose& event);
  // Answers those who want to make the object, as far as they can be answered.
  void ResolveOpens(const ObjectId& id, ObjectRecord& record);

  // The object's reduction ends with this error; kNoNode: its coordinator knows.
  void End(const ObjectId& id, ObjectRecord& record, const Error& error, NodeId tell_coordinator);
  // The node is lost.
  void Lose(const ObjectId& id, ObjectRecord& record, NodeId node);
  // The node's inventory is over. What it did not ask for again it gave up, or has the outcome of.
  void Resume(const ObjectId& id, ObjectRecord& record, NodeId node);

 private:
  // False: it fits nowhere, and has ended the reduction.
  bool Assign(NodeId node, const ObjectId& id, const PlannedOrder& planned);
  // Null, or the node's request that was not answered yet.
  PendingOpen* Pending(NodeId node, const ObjectId& id, std::uint64_t request);
  // Whether the order waits: the shard still collects, or the node's request is not answered yet.
  template <typename Order>
  bool Later(NodeId node, const Order& event);
  // Null, or the node's reduction that is still open.
  ReductionRecord* Open(NodeId node, const ObjectId& id, std::uint64_t request);
  // The object's reduction is the one that is asked for, for the first time or again.
  void Answer(const ObjectId& id, ObjectRecord& record, const PendingOpen& open);
  // Its session was interrupted: what it was told meanwhile is lost.
  void RepeatToCoordinator(const ObjectId& id, ObjectRecord& record);

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  RecoveryWindow& window_;
  const NodeTable& nodes_;
  ObjectBook& objects_;
  const Tombstones& tombstones_;
  EndedReductions& ended_;
  Agenda& agenda_;
  Post& post_;
  const Versions& versions_;
  ReductionOrders& orders_;
  Ownership& ownership_;
  ShardFolds& folds_;
};

}  // namespace hoplite::planner
