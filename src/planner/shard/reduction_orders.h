// ReductionOrders: what those who execute the slots of a reduction are told, and when a slot starts
// again (R29, R30, R33).
//
// Decides: which slots a new order starts again (those above it), and their versions, so that every
// participant sees one order; which slot is lost. Is told: what the coordinator orders, whose slot
// can't go on, who can't reach whom. Must never: start another slot again, or tell two participants
// the same version, but for the roots of one target. Which source takes which slot is the
// coordinator's decision (reduce_planner).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "planner/books/object_book.h"
#include "planner/copies/blocked_pairs.h"
#include "planner/copies/node_table.h"
#include "planner/serving/pass_rules.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/post.h"
#include "planner/shard/versions.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class ReductionOrders {
 public:
  // Writes into the objects and the pairs, takes versions from the stamps, reads the nodes; all
  // outlive it.
  ReductionOrders(const DirectoryOptions& options, const ShardClock& clock, Stamps& stamps,
                  const NodeTable& nodes, ObjectBook& objects, KeepApart& apart,
                  BlockedPairs& pairs, Post& post, Versions& versions)
      : options_(options),
        clock_(clock),
        stamps_(stamps),
        nodes_(nodes),
        objects_(objects),
        apart_(apart),
        pairs_(pairs),
        post_(post),
        versions_(versions) {}

  // Of an open reduction: the order fits into its tree.
  void Assign(const ObjectId& id, ObjectRecord& record, const PlannedOrder& planned);
  // These slots, of the plan of this number, take the place of all there were.
  void Replace(const ObjectId& id, ObjectRecord& record, std::uint64_t plan, SlotTree slots);
  // The coordinator hears, once, that the slot has to be assigned again.
  void MarkLost(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot,
                SlotFault fault);
  // A node that is to fold the slot's output could not connect to the slot's node: unless that is
  // gone, somebody has to stand between them (R68).
  void OnUnreachable(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot,
                     NodeId receiver, const std::string& why);
  // It has all of the slot's output.
  void OnReached(NodeId receiver, NodeId source) { pairs_.Forget(receiver, source); }
  // The coordinator hears once more of a slot that is lost.
  void TellLost(const ObjectId& id, const ReductionRecord& reduction, const SlotRecord& slot);
  // The node is lost, and whatever it had not passed on.
  void MarkLostAt(const ObjectId& id, ReductionRecord& reduction, NodeId node);
  // After an interrupted session: orders that the node may have missed; it knows the versions.
  void Repeat(const ObjectId& id, ObjectRecord& record, NodeId node);
  // Whoever executes a slot lets go of it.
  void Drop(const ObjectId& id, const ReductionRecord& reduction);

 private:
  // The slot of a tree, and what starts again with it.
  static std::vector<std::uint32_t> Renewed(const SlotTree& tree, std::uint32_t slot);
  void Renew(const ObjectId& id, ObjectRecord& record, const std::vector<std::uint32_t>& slots);
  // `target`: the version of the roots that start again together; none: this is the first of them.
  void NewAttempt(const ObjectId& id, ObjectRecord& record, SlotRecord& known, Version& target);
  void StartTarget(const ObjectId& id, ObjectRecord& record, Version target);
  void ListRoot(const ObjectId& id, ObjectRecord& record, const SlotOrder& root);
  void Relist(const ObjectId& id, ObjectRecord& record, const SlotRecord& root);
  void MarkBlocked(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot,
                   NodeId receiver);
  void TellOrder(const ObjectId& id, const ReductionRecord& reduction, std::uint32_t slot);
  // What the slot is fed by. A child that died after it was drained is needed again now.
  void TellFeeds(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot);
  void TellFeed(const ObjectId& id, ReductionRecord& reduction, const SlotRecord& parent,
                std::uint32_t child);

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  Stamps& stamps_;
  const NodeTable& nodes_;
  ObjectBook& objects_;
  KeepApart& apart_;
  BlockedPairs& pairs_;
  Post& post_;
  Versions& versions_;
};

}  // namespace hoplite::planner
