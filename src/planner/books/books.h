// Books: all that one shard knows. Each book is a value type that keeps its own data to itself and
// says in its header what it is told; copying the books copies the shard's state.
//
// DirectoryState owns them. A part that decides something is given those that it needs, and as
// const what it only reads. Views, invariants and the fingerprint read all of them. Who writes:
//
//   clock              DirectoryState
//   window             whoever hears a request that has to wait; Membership ends sessions
//   stamps             whoever makes a version, a grant or a request
//   nodes              Membership, Recovery; what links are like: Transfers, ReductionReports;
//                      what nodes are to give: Lookups
//   objects            every part, each its own subject; only DirectoryState forgets one
//   inlined            Versions
//   inline_pace        Lookups, Transfers
//   tombstones         Deletion; Recovery, where a copy shows that a tombstone had ended
//   ended              ReductionRequests; Versions, where another one begins
//   owners, their clock  Ownership; Deletion ends all of an id's, Membership begins sessions
//   registers          Registers; Membership and Recovery end what a session said
//   apart              Transfers, ReductionOrders
//   losses             DirectoryState
//   pairs              Transfers, ReductionOrders; Membership forgets those of a new session
//   gathering          Passes
//   giving             Lookups
//   sweeps             Membership, Recovery; DirectoryState takes the visits out
//   agenda             DirectoryState, and whoever changes an object without having been told of it
//   outbox             Post; Membership and Visits silence a node that goes
#pragma once

#include <string>

#include "base/time.h"
#include "planner/books/agenda.h"
#include "planner/books/directory_options.h"
#include "planner/books/ended_reductions.h"
#include "planner/books/inline_budget.h"
#include "planner/books/inline_pace.h"
#include "planner/books/object_book.h"
#include "planner/books/outbox.h"
#include "planner/books/owner_book.h"
#include "planner/books/owner_clock.h"
#include "planner/books/recovery_window.h"
#include "planner/books/register_book.h"
#include "planner/books/sweeps.h"
#include "planner/books/tombstones.h"
#include "planner/copies/blocked_pairs.h"
#include "planner/copies/node_table.h"
#include "planner/serving/pass_rules.h"
#include "planner/words/expiring.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

struct Books {
  Books(const DirectoryOptions& options_in, Time start)
      : options(options_in),
        clock(start),
        window(start, options.recovery_window, options.recovery_limit),
        stamps(options.incarnation),
        nodes(options.link),
        inlined(options.inline_limit_bytes, options.inline_total_bytes),
        inline_pace(options.inline_ahead_bytes, options.inline_ahead),
        owner_clock(options.recovery_window == Duration{0}) {}

  DirectoryOptions options;  // constant
  ShardClock clock;
  RecoveryWindow window;
  Stamps stamps;
  NodeTable nodes;
  ObjectBook objects;
  InlineBudget inlined;
  InlinePace inline_pace;
  Tombstones tombstones;
  EndedReductions ended;
  OwnerBook owners;
  OwnerClock owner_clock;
  RegisterBook registers;
  KeepApart apart;               // receivers and sources
  Expiring<ObjectId> losses;     // objects of which a lost holder is all that is known
  BlockedPairs pairs;            // of them: that could not connect
  Expiring<ObjectId> gathering;  // whose next pass waits
  Expiring<ObjectId> giving;     // whose questions wait for the shard's link, or for a Give
  Sweeps sweeps;
  Agenda agenda;
  Outbox outbox;
};

// Empty, or the first broken invariant of README.md in words. O(books).
std::string BrokenInvariant(const Books& books);

}  // namespace hoplite::planner
