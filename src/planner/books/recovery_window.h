// RecoveryWindow: while a shard that has just started collects what its nodes hold (R15), and what
// must wait until then.
//
// Decides: when collecting ends. Is told: the time, who still tells an inventory, and requests that
// could not be answered rightly yet. Must never: collect again once it ended, or answer anything
// itself; or keep a word beyond the session in which it was said. A value type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/node_table.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// Said while the shard collected.
struct Deferred {
  NodeId node;
  std::uint64_t sessions_before = 0;  // of that node
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

  // Kept in order, by the object that it speaks of, while the node's session lasts.
  void Defer(NodeId node, const NodeEvent& event);
  void EndSession(NodeId node);
  // The node does not want the object any more.
  void ForgetWants(NodeId node, const ObjectId& id);
  // There is an object whose deferred words may be said.
  bool due() const { return !collecting_ && !deferred_.empty(); }
  const ObjectId& next() const { return deferred_.begin()->first; }
  // What counts of that object's; none: nothing was ever deferred that speaks of it.
  std::optional<std::vector<Deferred>> Take(const ObjectId& id);
  // All that counts, object by object.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [id, said] : deferred_) {
      for (const Deferred& one : said) {
        if (Counts(one)) visit(one);
      }
    }
  }

 private:
  // The session in which it was said goes on.
  bool Counts(const Deferred& one) const { return one.sessions_before == SessionsOf(one.node); }
  std::uint64_t SessionsOf(NodeId node) const;

  Duration length_;
  Time earliest_end_;
  Time latest_end_;
  bool collecting_;
  std::map<ObjectId, std::vector<Deferred>> deferred_;
  std::map<NodeId, std::uint64_t> sessions_;  // that ended while anything was deferred
};

}  // namespace hoplite::planner
