// ReduceCoordinator: one reduction, as the node sees it whose client asked for it (R29-R36 of
// docs/protocol.md).
//
//   open -> opened: orders, again after each lost session -> committed, refused, or given up ->
//   close
//   open -> committed: the shard kept the sources, and folded them (R82) -> close
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

#include "planner/reduce/reduce_planner.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class ReduceCoordinator {
 public:
  using Events = std::vector<NodeEvent>;

  // As ReducePlanner's.
  ReduceCoordinator(const ReduceOptions& options, NodeId self, std::uint64_t request,
                    StripePlans allowed = StripePlans::kWhatPays)
      : target_(options.target), request_(request), planner_(options, self, request, allowed) {}

  // Before anything is said: the target's shard is to fold the sources, if it keeps them.
  void AskShardToFold(const ReduceOptions& options);

  // --- told; `say` takes what is to be said at once
  // What a shard says. False: it concerns no coordinator, and nothing has changed.
  bool Hear(const NodeAction& word, Time now, Events& say);
  void OnHolderGone(const ObjectId& source, NodeId node);
  // As ReducePlanner's; of others it hears with their places.
  void OnSite(NodeId node, const std::string& site) { planner_.OnSite(node, site); }
  void OnDeleted(const ObjectId& source) { planner_.OnDeleted(source); }
  void OnFailed(const ObjectId& source, const Error& why) { planner_.OnFailed(source, why); }
  // The node's sessions ended: what goes meanwhile is not told, what is still there is told again.
  void ForgetHolders();

  // --- answers
  // Said first, and in every inventory; the orders follow its answer.
  ReduceOpen Request() const;
  // The size is known, and small: whether the shard folds, which waits for sources and is asked once
  // more when enough have come; or they are fetched, and it is not asked any more.
  enum class SmallWay : std::uint8_t { kWait, kAsk, kFetch };
  SmallWay NextOfSmall();
  // Appends the orders that are due; when it wants to be asked again. Nothing once it has ended.
  Time Plan(Time now, Events& say);
  // The sources that the shard committed, or why there is no target; null while it goes on.
  std::optional<Result<std::vector<ObjectId>>> Outcome() const;
  // The last word: the outcome is known, or given up for this reason. Null: the shard refused, it
  // knows nothing of this reduction.
  std::optional<ReduceClose> Close(const Error* why) const;

  bool opened() const { return opened_; }
  bool committed() const { return committed_.has_value(); }
  // The commit, with the bytes of the target; null if the shard did not make it.
  const ReduceCommitted* folded() const {
    return committed_ && committed_->bytes ? &*committed_ : nullptr;
  }
  // The shard may fold, and commit, without another word.
  bool asks_shard() const { return !shard_fold_.sources.empty(); }
  const ReducePlanner& planner() const { return planner_; }

 private:
  void On(const Location& location, Time now);
  void On(const ReduceOpened& opened, Events& say);

  ObjectId target_;
  std::uint64_t request_;
  ReducePlanner planner_;
  std::set<std::pair<ObjectId, NodeId>> holders_;  // that the planner was told of
  ShardFold shard_fold_;                           // no sources: the shard is not to fold
  bool asked_for_all_ = false;                     // when enough sources had come
  bool opened_ = false;
  std::optional<Error> refused_;
  std::optional<ReduceCommitted> committed_;
};

}  // namespace hoplite::planner
