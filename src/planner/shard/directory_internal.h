// The inside of DirectoryState: the books (books.h), the parts that decide, and how an event flows.
//
//   Apply   the session layer's word goes to Membership; a node's word goes to the one part that
//           hears it, and its object to the agenda. Before that the object catches up: Visits pays
//           what sweeps owe it, and what was deferred of it is said.
//   Plan    the clock ends what it ends: tombstones, pairs kept apart, gathering, the recovery window.
//           Then each object of the agenda catches up and is settled: Requests, Creation, Lookups
//           and Eviction answer what can be answered, Passes grants; what nobody owns any more is
//           deleted. An object of which nothing is left is forgotten. What remains of the slice
//           goes to the sweeps. The outbox is handed over.
//
// So a part records what was said in On, and answers in Resolve or Run, once per batch. A part uses
// only those above it:
//
//   Post          what nodes are told            Versions     how versions begin, how copies end
//   Ownership     who owns an id, and when it goes for lack of owners
//   Transfers     wants, closed grants, reports  Passes       one pass over one object
//   Folds, Orders, Requests, Reports: reductions  Creation    which Put counts
//   Lookups       who hears of an object         Deletion, Eviction: how objects and copies end
//   Recovery      inventories                    Visits       what a member's going means
//   Membership    sessions                       Registers    small values with a number
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "planner/books/books.h"
#include "planner/shard/creation.h"
#include "planner/shard/deletion.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/eviction.h"
#include "planner/shard/lookups.h"
#include "planner/shard/membership.h"
#include "planner/shard/ownership.h"
#include "planner/shard/passes.h"
#include "planner/shard/post.h"
#include "planner/shard/recovery.h"
#include "planner/shard/reduction_orders.h"
#include "planner/shard/reduction_reports.h"
#include "planner/shard/reduction_requests.h"
#include "planner/shard/registers.h"
#include "planner/shard/shard_folds.h"
#include "planner/shard/transfers.h"
#include "planner/shard/versions.h"
#include "planner/shard/visits.h"

namespace hoplite::planner {

// Owns the books and the parts. Decides: whose turn it is. Must never: change a record itself.
class DirectoryState::State {
 public:
  State(const DirectoryOptions& options, Time start) : books_(options, start) {}
  // Each one's parts write its own books.
  State(const State& other) : books_(other.books_), changes_(other.changes_) {}
  State& operator=(const State&) = delete;

  const Books& books() const { return books_; }
  std::uint64_t changes() const { return changes_; }
  void Apply(const Event& event);
  Time Plan(Time now, std::vector<Action>& actions);
  std::set<ObjectId>& watched() { return watched_; }
  std::vector<ObjectId> TakeTouched() { return std::exchange(touched_, {}); }

 private:
  void Hear(NodeId node, const NodeEvent& event);
  void Say(NodeId node, const NodeEvent& event);
  // What happened to the object's members, and what was said of it, before now.
  void CatchUp(const ObjectId& id);
  void SayDeferred(const ObjectId& id);

  void Tick(Time time);
  // Up to a slice of what is to be done: what events touched first, then the sweeps.
  void Work();
  void Settle(const ObjectId& id);
  void LookAgain(const ObjectId& id);
  // Whether a lost holder is still to be named to whoever asks.
  bool RemembersLoss(const ObjectId& id, const ObjectRecord& record);
  void ForgetLosses();
  bool due() const;
  Time NextTime();

  Books books_;
  std::uint64_t changes_ = 0;
  std::set<ObjectId> watched_;
  std::vector<ObjectId> touched_;  // of these
  Post post_{books_.outbox, books_.nodes, books_.tombstones, books_.ended, books_.clock};
  Versions versions_{books_.agenda, books_.inlined, books_.ended, books_.nodes, post_};
  Ownership ownership_{books_.options, books_.clock,   books_.window, books_.nodes,
                       books_.stamps,  books_.objects, books_.owners, books_.owner_clock,
                       books_.agenda,  post_};
  Transfers transfers_{books_.options, books_.clock,   books_.window,      books_.stamps,
                       books_.nodes,   books_.objects, books_.inline_pace, books_.apart,
                       books_.pairs,   post_,          versions_,          ownership_};
  Passes passes_{books_.options, books_.clock,  books_.window,    books_.nodes, books_.apart,
                 books_.stamps,  books_.agenda, books_.gathering, post_};
  ReductionOrders orders_{books_.options, books_.clock, books_.stamps, books_.nodes, books_.objects,
                          books_.apart,   books_.pairs, post_,         versions_};
  ShardFolds folds_{books_.clock,       books_.stamps, books_.nodes, books_.objects,
                    books_.inline_pace, post_,         versions_,    ownership_};
  ReductionRequests requests_{books_.options, books_.clock,      books_.window, books_.nodes,
                              books_.objects, books_.tombstones, books_.ended,  books_.agenda,
                              post_,          versions_,         orders_,       ownership_,
                              folds_};
  ReductionReports reports_{books_.clock, books_.window, books_.nodes, books_.objects,
                            post_,        orders_,       transfers_,   ownership_};
  Creation creation_{books_.options,    books_.clock, books_.window, books_.stamps, books_.objects,
                     books_.tombstones, post_,        versions_,     orders_,       ownership_};
  Lookups lookups_{books_.options, books_.clock,  books_.nodes, books_.objects, books_.inline_pace,
                   books_.giving,  books_.owners, post_,        versions_,      transfers_};
  Deletion deletion_{books_.clock,      books_.stamps, books_.objects,
                     books_.tombstones, books_.owners, post_,
                     versions_,         requests_,     books_.options.tombstone};
  Eviction eviction_{books_.window, books_.nodes, books_.objects, post_, versions_};
  Recovery recovery_{books_.options, books_.clock,      books_.stamps, books_.nodes,
                     books_.objects, books_.tombstones, books_.sweeps, books_.registers,
                     post_,          versions_,         requests_,     ownership_};
  Visits visits_{books_.objects, books_.agenda, books_.outbox, versions_, requests_, ownership_};
  Membership membership_{books_.options, books_.clock,   books_.window,      books_.stamps,
                         books_.nodes,   books_.objects, books_.sweeps,      books_.outbox,
                         books_.pairs,   books_.owners,  books_.owner_clock, books_.registers};
  Registers registers_{books_.options, books_.clock,     books_.window, books_.owner_clock,
                       books_.stamps,  books_.registers, post_};
};

}  // namespace hoplite::planner
