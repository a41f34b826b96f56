// Coordinator: one reduction that a client of this node asked for.
//
// Decides: whether the sources are small enough to be folded right here; when to give up. What the
// shard is told, and how a reduction ends, is planner::ReduceCoordinator's. Main loop only.
//
//   large: watch sources -> planner -> orders to the shard ... -> committed
//   small, kept by the target's shard: that folds -> committed -> keep a copy
//   small, else: watch sources -> get each as it appears, fold -> create the target
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/core/context.h"
#include "node/core/operations.h"
#include "node/core/wait_reason.h"
#include "node/reduce/small_fold.h"
#include "planner/reduce/reduce_coordinator.h"

namespace hoplite::node {

class Coordinator : public std::enable_shared_from_this<Coordinator> {
 public:
  // `options` passed CheckReduceOptions and name a target.
  Coordinator(Context& context, Operations& calls, EntryPtr target, ReduceOptions options,
              CallPtr call, std::uint64_t request);
  net::Task<Result<ReduceOutcome>> Run();

  // What a shard says.
  void Hear(const protocol::NodeAction& word);

  // The shard may have ended it, and forgotten that.
  void Outlive();

  // Why it is not done, in words.
  std::string Unfinished() const;

  // In one word.
  WaitReason wait_reason() const;

  // Its own Create of the target is under way.
  bool creates_target() const { return creating_; }
  // Repeated in every inventory; its orders follow the answer.
  protocol::ReduceOpen Request() const;

 private:
  void Watch();
  void Say(std::vector<protocol::NodeEvent> events);
  void LogPlan(const std::vector<protocol::NodeEvent>& orders) const;
  net::Task<Result<ReduceOutcome>> Drive();
  std::optional<Result<ReduceOutcome>> Settled() const;
  std::optional<Result<ReduceOutcome>> Ended() const;
  bool small() const;
  std::uint64_t LargestKept() const;
  // The small ways.
  bool OneShard() const;
  net::Task<void> KeepTarget(protocol::ReduceCommitted folded);
  bool Keep(const store::CopyPtr& copy, const protocol::ReduceCommitted& folded);
  void SayGone(Version version) const;
  void SayHeld(const store::Copy& copy) const;
  net::Task<Result<ReduceOutcome>> FoldHere();
  void AskForSources();
  net::Task<void> GetSource(ObjectId source);
  net::Task<Result<ReduceOutcome>> CreateTarget();
  void EndOwning(bool refused);
  ReduceOutcome OutcomeOf(const std::vector<ObjectId>& used) const;

  Context& context_;
  Operations& calls_;
  const EntryPtr target_;
  const ReduceOptions options_;
  const CallPtr call_;
  planner::ReduceCoordinator reduction_;
  std::vector<std::shared_ptr<void>> watches_;
  std::uint64_t owner_number_ = 0;  // of its request; 0: the target is not to be owned

  std::optional<std::uint64_t> small_to_;  // targets up to this size are folded here
  bool creating_ = false;
  SmallFold small_fold_;
  std::vector<CallPtr> gets_;        // under way
  std::optional<Error> never_fits_;  // a source
};

// What a reduction that makes the object waits for here: its coordinator, and the first of its slots
// that lacks memory. Empty: nothing.
std::string WhyReductionWaits(const ObjectEntry& entry);

}  // namespace hoplite::node
