// Membership: who is a member, and in which session (R13, R14).
//
// Decides: what a session's beginning and end change about the node itself; the objects that it
// spoke of are swept (Visits). Is told: the events of the session layer. Must never: answer a
// request in another session than the one in which it was said.
#pragma once

#include "base/ids.h"
#include "planner/books/object_book.h"
#include "planner/books/outbox.h"
#include "planner/books/owner_book.h"
#include "planner/books/owner_clock.h"
#include "planner/books/recovery_window.h"
#include "planner/books/register_book.h"
#include "planner/books/sweeps.h"
#include "planner/copies/blocked_pairs.h"
#include "planner/copies/node_table.h"
#include "planner/shard/directory_state.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class Membership {
 public:
  // Writes into all but the options and the clock; all outlive it.
  Membership(const DirectoryOptions& options, const ShardClock& clock, RecoveryWindow& window,
             Stamps& stamps, NodeTable& nodes, ObjectBook& objects, Sweeps& sweeps, Outbox& outbox,
             BlockedPairs& pairs, OwnerBook& owners, OwnerClock& owner_clock,
             RegisterBook& registers)
      : options_(options),
        clock_(clock),
        window_(window),
        stamps_(stamps),
        nodes_(nodes),
        objects_(objects),
        sweeps_(sweeps),
        outbox_(outbox),
        pairs_(pairs),
        owners_(owners),
        owner_clock_(owner_clock),
        registers_(registers) {}

  void OnJoined(const NodeJoined& event);
  void OnSuspended(NodeId node);
  void OnLost(NodeId node);
  void On(NodeId node, const StoreUsage& event);
  void On(NodeId node, const ToldWaits& event);

 private:
  const DirectoryOptions& options_;
  const ShardClock& clock_;
  RecoveryWindow& window_;
  Stamps& stamps_;
  NodeTable& nodes_;
  ObjectBook& objects_;
  Sweeps& sweeps_;
  Outbox& outbox_;
  BlockedPairs& pairs_;
  OwnerBook& owners_;
  OwnerClock& owner_clock_;
  RegisterBook& registers_;
};

}  // namespace hoplite::planner
