// ReduceCoordinator: one reduction, as the node sees it whose client asked for it (R29-R36 of
// docs/protocol.md).
//
//   open -> opened: orders, again after each lost session -> committed, refused, or given up ->
//   close
//
// Decides: what the target's shard is told, and how the reduction ended; which source takes which
// slot is ReducePlanner's. Is told: where sources are, what the shard says; its caller decides
// when to give up. Must never: call an outcome its own that the shard did not commit, or take a
// word about another request for its own. A value type; knows no clock, socket or random source.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "planner/reduce_planner.h"
#include "planner/words.h"

namespace hoplite::planner {

class ReduceCoordinator {
 public:
  using Events = std::vector<NodeEvent>;

  // As ReducePlanner's.
  ReduceCoordinator(const ReduceOptions& options, NodeId self, std::uint64_t request,
                    bool two_trees = false)
      : target_(options.target), request_(request), planner_(options, self, request, two_trees) {}

  // --- told; `say` takes what is to be said at once
  // What a shard says. False: it concerns no coordinator, and nothing has changed.
  bool Hear(const NodeAction& word, Time now, Events& say);
  void OnHolderGone(const ObjectId& source, NodeId node);
  void OnDeleted(const ObjectId& source) { planner_.OnDeleted(source); }
  void OnFailed(const ObjectId& source, const Error& why) { planner_.OnFailed(source, why); }
  // The node's sessions ended: what goes meanwhile is not told, what is still there is told again.
  void ForgetHolders();

  // --- answers
  // Said first, and in every inventory; the orders follow its answer.
  ReduceOpen Request() const { return {target_, request_}; }
  // Appends the orders that are due; when it wants to be asked again. Nothing once it has ended.
  Time Plan(Time now, Events& say) { return Outcome() ? kNever : planner_.Plan(now, say); }
  // The sources that the shard committed, or why there is no target; null while it goes on.
  std::optional<Result<std::vector<ObjectId>>> Outcome() const;
  // The last word: the outcome is known, or given up for this reason. Null: the shard refused, it
  // knows nothing of this reduction.
  std::optional<ReduceClose> Close(const Error* why) const;

  bool opened() const { return opened_; }
  bool committed() const { return committed_.has_value(); }
  const ReducePlanner& planner() const { return planner_; }

 private:
  void On(const Location& location, Time now);
  void On(const ReduceOpened& opened, Events& say);

  ObjectId target_;
  std::uint64_t request_;
  ReducePlanner planner_;
  std::set<std::pair<ObjectId, NodeId>> holders_;  // that the planner was told of
  bool opened_ = false;
  std::optional<Error> refused_;
  std::optional<ReduceCommitted> committed_;
};

}  // namespace hoplite::planner
