// Transfers: what nodes say of the bytes that they want, get and have (R5-R12).
//
// Decides: what a want, a grant's end, a completion and a report change in the table of copies; who
// is kept apart from whom. Is told: those words. Must never: grant anything (Passes do), or doubt
// that a copy is complete because the grant that fed it is an old one (R5).
#pragma once

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/books/inline_pace.h"
#include "planner/books/object_book.h"
#include "planner/books/recovery_window.h"
#include "planner/copies/blocked_pairs.h"
#include "planner/copies/node_table.h"
#include "planner/serving/pass_rules.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/ownership.h"
#include "planner/shard/post.h"
#include "planner/shard/versions.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class Transfers {
 public:
  // Writes into the objects, their nodes' links, the pairs kept apart, and the window what has to
  // wait; takes numbers from the stamps. All outlive it.
  Transfers(const DirectoryOptions& options, const ShardClock& clock, RecoveryWindow& window,
            Stamps& stamps, NodeTable& nodes, ObjectBook& objects, InlinePace& inline_pace,
            KeepApart& apart, BlockedPairs& pairs, Post& post, Versions& versions,
            Ownership& ownership)
      : options_(options),
        clock_(clock),
        window_(window),
        stamps_(stamps),
        nodes_(nodes),
        objects_(objects),
        inline_pace_(inline_pace),
        apart_(apart),
        pairs_(pairs),
        post_(post),
        versions_(versions),
        ownership_(ownership) {}

  void On(NodeId node, const Want& event);
  // The same of one that holds room for the object and has nothing of it (R63). False: it has a
  // copy, as far as is known, and is to speak for itself.
  bool Wants(ObjectRecord& record, NodeId node, bool joint);
  void On(NodeId node, const CancelWant& event);
  void On(NodeId node, const GrantClosed& event);
  void On(NodeId node, const CopyComplete& event);
  void On(NodeId node, const CopyGone& event);
  void On(NodeId node, const CopyMoved& event);
  void On(NodeId node, const Progress& event);
  // Where the directory has the bytes and nobody else can give them all: whoever waits for a stream
  // gets them from it.
  void HelpVainWants(const ObjectId& id, ObjectRecord& record);
  // Whoever waits since it can't reach those who have the object gets it from a third, who is told
  // to get a copy (R68).
  void HelpBlocked(const ObjectId& id, ObjectRecord& record);

 private:
  void Park(ObjectRecord& record, NodeId node, const StripeMarks& marks, bool leaf);
  // Null, or the record if `version` is current; otherwise the node was told that it is void.
  ObjectRecord* Current(NodeId node, const ObjectId& id, Version version);
  // If it waits for a stream it gets the bytes that the directory has.
  void GiveBytes(const ObjectId& id, ObjectRecord& record, NodeId node);
  void OnFailed(ObjectRecord& record, NodeId node, const OpenGrant& grant,
                const GrantClosed& event);
  void KeepFrom(NodeId receiver, NodeId source, Failure how);
  bool HasSource(const ObjectRecord& record, NodeId receiver) const;
  NodeId HolderOutOfReach(const ObjectRecord& record, NodeId receiver) const;

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  RecoveryWindow& window_;
  Stamps& stamps_;
  NodeTable& nodes_;
  ObjectBook& objects_;
  InlinePace& inline_pace_;
  KeepApart& apart_;
  BlockedPairs& pairs_;
  Post& post_;
  Versions& versions_;
  Ownership& ownership_;
};

}  // namespace hoplite::planner
