// Ownership: who owns which id, and when an id goes because nobody does (R50-R57).
//
// Decides: whether a node's word about an id counts; who hears that an id is owned; when what nobody
// owns is to be deleted (Deletion does that). Is told: the nodes' words, accepted requests, copies
// that inventories speak of, and what becomes of sessions, object by object (Visits). Must never:
// have an id deleted that a node owns, or may own without the shard knowing; or keep anything of an
// id that nobody ever owned.
#pragma once

#include <cstdint>
#include <string>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/time.h"
#include "planner/books/agenda.h"
#include "planner/books/object_book.h"
#include "planner/books/owner_book.h"
#include "planner/books/owner_clock.h"
#include "planner/books/recovery_window.h"
#include "planner/copies/node_table.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/post.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class Ownership {
 public:
  // Writes into the owners, their clock, the objects, the agenda, and into the window what has to
  // wait; reads the others. All outlive it.
  Ownership(const DirectoryOptions& options, const ShardClock& clock, RecoveryWindow& window,
            const NodeTable& nodes, const Stamps& stamps, ObjectBook& objects, OwnerBook& owners,
            OwnerClock& owner_clock, Agenda& agenda, Post& post)
      : options_(options),
        clock_(clock),
        window_(window),
        nodes_(nodes),
        stamps_(stamps),
        objects_(objects),
        owners_(owners),
        owner_clock_(owner_clock),
        agenda_(agenda),
        post_(post) {}

  void On(NodeId node, const Owner& event);
  void On(NodeId node, const Owned& event);

  // --- requests that own
  // Empty, or why a request that owns, or wants the id to be owned, is refused.
  struct Refusal {
    ErrorCode code = ErrorCode::kInternal;
    std::string message;  // empty: it is not
  };
  Refusal WhyNot(NodeId node, const ObjectId& id, bool owned, bool only_if_owned = false) const;
  // The node's request was accepted: it owned, by this claim, or the id was to be owned. `vouched`:
  // it was said in the node's present session.
  void Accepted(NodeId node, const ObjectId& id, const OwnerClaim& claim, std::uint64_t attempt,
                bool vouched);
  void AcceptedForOwners(const ObjectId& id);
  // The node took back that accepted Create.
  void Withdrawn(NodeId node, const ObjectId& id, std::uint64_t attempt);

  // Whether copies of it go with its last owner.
  bool WasOwned(const ObjectId& id) const { return owners_.Knows(id); }

  // --- inventories and sessions
  // An inventory has a copy, and says whether the id was ever owned.
  void Copied(NodeId node, const ObjectId& id, bool ever_owned);
  // The node wants to pull; in an inventory it may not have heard that the id is owned.
  void Wanted(NodeId node, const ObjectId& id);
  void Suspend(NodeId node, const ObjectId& id) { owners_.SetAway(id, node); }
  void Lose(NodeId node, const ObjectId& id);
  // What it did not repeat it does not own.
  void EndInventory(NodeId node, const ObjectId& id);

  // --- what is due
  // Whether the object is to be deleted now, since nobody owns it. If that must wait it is looked at
  // again.
  bool Ends(const ObjectId& id, const ObjectRecord& record);
  // Whether those who rely on an owner of the object are to hear now that there is none (R59). If
  // that must wait it is looked at again.
  bool Disappoints(const ObjectId& id, const ObjectRecord& record);
  // Orphans whose grace is over, and ids that waited for a time or an inventory: at most so many.
  void Tick(Time now, std::size_t most);
  // When Tick has something to do; kNever: only after an event.
  Time Next();

 private:
  void Own(NodeId node, const ObjectId& id, std::uint64_t number, Grace grace);
  bool Answered(NodeId node, const ObjectId& id, std::uint64_t number, bool own);
  void Answer(NodeId node, const ObjectId& id, std::uint64_t number, OwnerResult result);
  void TellHolders(const ObjectId& id, const ObjectRecord& record);
  bool MayBe(const ObjectId& id) const;
  bool AtLimit(NodeId node, const ObjectId& id) const;
  GraceTerms graces() const { return {options_.orphan_grace, options_.tombstone}; }
  Version Present() const { return {{stamps_.incarnation(), stamps_.sequence()}}; }
  // Inventories told all, so what is not known is not there.
  bool KnowsMembers() const { return window_.KnowsMembers(nodes_); }

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  RecoveryWindow& window_;
  const NodeTable& nodes_;
  const Stamps& stamps_;
  ObjectBook& objects_;
  OwnerBook& owners_;
  OwnerClock& owner_clock_;
  Agenda& agenda_;
  Post& post_;
};

}  // namespace hoplite::planner
