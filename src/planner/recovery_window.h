// RecoveryWindow: while a shard that has just started collects what its nodes hold (R15), and what
// must wait until then.
//
// Decides: when collecting ends. Is told: the time, who still tells an inventory, and requests that
// could not be answered rightly yet. Must never: collect again once it ended, or answer anything
// itself. A value type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/time.h"
#include "planner/event.h"
#include "planner/node_table.h"

namespace hoplite::planner {

// Said while the shard collected, in that session of its node.
struct Deferred {
  NodeId node;
  std::uint64_t session = 0;
  NodeEvent event;
};

class RecoveryWindow {
 public:
  // `length` 0: of a cluster known to be new. Who still tells its inventory makes it longer, up to
  // `limit`.
  RecoveryWindow(Time start, Duration length, Duration limit);

  bool collecting() const { return collecting_; }
  // Inventories tell all: the shard does not collect, and no node is in the middle of one.
  bool KnowsMembers(const NodeTable& nodes) const {
    return !collecting_ && nodes.open_inventories() == 0;
  }
  // When it ends if nobody tells anything more. Costs O(nodes).
  Time End(const NodeTable& nodes) const;
  void EndIfDue(Time now, const NodeTable& nodes);
  Time earliest_end() const { return earliest_end_; }

  // Kept in order, by the object that it speaks of.
  void Defer(NodeId node, std::uint64_t session, const NodeEvent& event);
  // The node does not want the object any more.
  void ForgetWants(NodeId node, const ObjectId& id);
  // There is an object whose deferred words may be said.
  bool due() const { return !collecting_ && !deferred_.empty(); }
  const ObjectId& next() const { return deferred_.begin()->first; }
  // None: nothing was ever deferred that speaks of it.
  std::optional<std::vector<Deferred>> Take(const ObjectId& id);
  const std::map<ObjectId, std::vector<Deferred>>& deferred() const { return deferred_; }

 private:
  Duration length_;
  Time earliest_end_;
  Time latest_end_;
  bool collecting_;
  std::map<ObjectId, std::vector<Deferred>> deferred_;
};

}  // namespace hoplite::planner
