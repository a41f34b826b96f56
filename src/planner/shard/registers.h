// Registers: small values with a number, to read, to compare and set, and to be told of (R90-R96).
//
// Decides: which write is done; when a claim is answered; who hears what. Is told: what nodes have of
// registers. Must never: answer a call with what another one did (R95); answer anything while a node that was not lost may know more (R92); answer a
// claim while somebody may believe that he is still the writer (R96); or give a number twice.
#pragma once

#include <cstddef>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/time.h"
#include "planner/books/owner_clock.h"
#include "planner/books/recovery_window.h"
#include "planner/books/register_book.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/post.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class Registers {
 public:
  // Writes into the book, takes numbers from the stamps, and has the clock called. All outlive it.
  Registers(const DirectoryOptions& options, const ShardClock& clock, const RecoveryWindow& window,
            OwnerClock& owner_clock, Stamps& stamps, RegisterBook& book, Post& post)
      : options_(options),
        clock_(clock),
        window_(window),
        owner_clock_(owner_clock),
        stamps_(stamps),
        book_(book),
        post_(post) {}

  void On(NodeId node, const RegisterUse& event);

  // Something is to be said.
  bool due() const { return book_.touched() && Collected(); }
  // Says it, of one register.
  void Run();
  // When something that waits is due; kNever: only after an event.
  Time Next();

 private:
  // All nodes that were not lost had the time to tell what they know (R92): from when on, by the
  // owners' clock, and whether that is so now.
  Time CollectedAt() const { return owner_clock_.unknown_until() - options_.orphan_grace; }
  bool Collected() const;
  void Answer(const ObjectId& id, RegisterRecord& record);
  // Whether the call is answered: it is not while a claim waits.
  bool Answer(const ObjectId& id, RegisterRecord& record, NodeId node, const RegisterCall& call);
  void Write(RegisterRecord& record, NodeId node, const RegisterCall& call);
  void TellWritten(const ObjectId& id, RegisterRecord& record, NodeId node,
                   const RegisterCall& call);
  void TellNews(const ObjectId& id, RegisterRecord& record);
  void Tell(const ObjectId& id, RegisterRecord& record, NodeId node, RegisterOutcome outcome,
            std::uint64_t call);

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  const RecoveryWindow& window_;
  OwnerClock& owner_clock_;
  Stamps& stamps_;
  RegisterBook& book_;
  Post& post_;
};

}  // namespace hoplite::planner
