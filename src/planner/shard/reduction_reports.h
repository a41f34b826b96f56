// ReductionReports: what those who execute slots say of them (R31-R33).
//
// Decides: whether a word is about the present attempt; which of a reset and a commit came first;
// of several roots (R64), when all have asked and somebody has the whole target. Is told: failures,
// drained inputs, progress, commits. Must never: believe what is said of an old attempt, commit a
// version twice with different sources, or commit while one node's death would lose the target
// that several made.
#pragma once

#include <cstdint>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/books/object_book.h"
#include "planner/books/recovery_window.h"
#include "planner/copies/node_table.h"
#include "planner/shard/ownership.h"
#include "planner/shard/post.h"
#include "planner/shard/reduction_orders.h"
#include "planner/shard/transfers.h"
#include "planner/words/shard_clock.h"

namespace hoplite::planner {

class ReductionReports {
 public:
  // Writes into the objects, their nodes' links, and the window what has to wait; all outlive it.
  ReductionReports(const ShardClock& clock, RecoveryWindow& window, NodeTable& nodes,
                   ObjectBook& objects, Post& post, ReductionOrders& orders, Transfers& transfers,
                   Ownership& ownership)
      : clock_(clock),
        window_(window),
        nodes_(nodes),
        objects_(objects),
        post_(post),
        orders_(orders),
        transfers_(transfers),
        ownership_(ownership) {}

  void On(NodeId node, const SlotFailed& event);
  void On(NodeId node, const SlotDrained& event);
  void On(NodeId node, const SlotProgress& event);
  void On(NodeId node, const ReduceCommit& event);
  // Commits what several roots make as soon as it may be.
  void ResolveCommit(const ObjectId& id, ObjectRecord& record);

 private:
  void Commit(const ObjectId& id, ObjectRecord& record);
  // Of a reduction that everyone reads.
  void GiveCopies(const ObjectId& id, const ObjectRecord& record);
  // What it was told is lost with a session.
  void CommitAgain(NodeId node, const ObjectId& id, ObjectRecord& record);
  // Null, or the slot whose present attempt the node executes.
  SlotRecord* Executes(NodeId node, const ObjectId& id, std::uint32_t slot, Version version);
  // Null if either attempt is an old one, or the child that the participant speaks of.
  SlotRecord* InputOf(NodeId node, const ObjectId& id, std::uint32_t slot, Version version,
                      std::uint32_t input, Version input_version);

  const ShardClock& clock_;
  RecoveryWindow& window_;
  NodeTable& nodes_;
  ObjectBook& objects_;
  Post& post_;
  ReductionOrders& orders_;
  Transfers& transfers_;
  Ownership& ownership_;
};

}  // namespace hoplite::planner
