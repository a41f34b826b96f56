// The inside of DirectoryState. Each group of members has a source file of its own:
//
//   directory_state.cpp   Apply, Plan and what the others share
//   views.cpp, invariants.cpp, fingerprint.cpp
//
// On records what was said; Resolve and RunPass run from Plan and decide.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "planner/books.h"
#include "planner/creation.h"
#include "planner/deletion.h"
#include "planner/directory_state.h"
#include "planner/eviction.h"
#include "planner/lookups.h"
#include "planner/membership.h"
#include "planner/object_record.h"
#include "planner/passes.h"
#include "planner/post.h"
#include "planner/recovery.h"
#include "planner/reduction_orders.h"
#include "planner/reduction_reports.h"
#include "planner/reduction_requests.h"
#include "planner/sweeps.h"
#include "planner/transfers.h"
#include "planner/versions.h"
#include "planner/visits.h"

namespace hoplite::planner {

struct DirectoryState::State : Books {
  State(const DirectoryOptions& options, Time start) : Books(options, start) {}
  State(const State& other) : Books(other) {}  // the parts know the books beside them

  // directory_state.cpp
  void Tick(Time time);
  // Up to a slice of what is to be done: what events touched first, then the sweeps.
  void Work();
  bool due() const;
  // What happened to the object's members, and what was said of it, before now.
  void CatchUp(const ObjectId& id);
  void SayDeferred(const ObjectId& id);
  void Settle(const ObjectId& id);
  Time NextTime() const;
  void Dispatch(NodeId node, const NodeEvent& event);
  void Say(NodeId node, const NodeEvent& event);

  // views.cpp
  ObjectView View(const ObjectId& id, const ObjectRecord& record) const;

  // invariants.cpp
  std::string BrokenObject(const ObjectId& id, const ObjectRecord& record) const;
  std::string BrokenReduction(const ObjectId& id, const ObjectRecord& record) const;

  // Each part knows the books that it needs.
  Post post{outbox, nodes, marks, clock};
  Versions versions{agenda, inlined, nodes, post, options.fault};
  Passes passes{clock, window, nodes, apart, stamps, agenda, post, options.fault};
  Transfers transfers{options, clock, window, stamps, nodes, objects, apart, post, versions};
  ReductionOrders orders{stamps, nodes, objects, post, versions, options.fault};
  ReductionRequests requests{options, clock, window, nodes, objects, marks, agenda, post, orders};
  ReductionReports reports{window, nodes, objects, post, orders, transfers};
  Creation creation{options, clock, window, stamps, objects, marks, post, versions, orders};
  Lookups lookups{objects, post, options.fault};
  Deletion deletion{clock, stamps, objects, marks, post, versions, requests, options.tombstone};
  Eviction eviction{window, objects, post, versions, options.fault};
  Recovery recovery{options, clock,  stamps, nodes,    objects,
                    marks,   sweeps, post,   versions, requests};
  Visits visits{objects, agenda, outbox, versions, requests, options.fault};
  Membership membership{clock, window, stamps, nodes, objects, sweeps, outbox};
};

}  // namespace hoplite::planner
