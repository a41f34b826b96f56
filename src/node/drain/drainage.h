// Drainage: hands a node's only copies on, because it is to stop.
//
// DrainState decides; this looks into the store, speaks with the shards, and wakes those who wait
// for the end. Is told: that it begins, answers of the shards. Must never: drop a copy (the memory
// broker does, by the same answers), or end while a Put or a reduction of this node goes on. Main
// loop only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <hoplite/drain.h>
#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "net/signal.h"
#include "net/stream.h"
#include "node/core/context.h"
#include "node/core/operations.h"
#include "planner/node/drain_state.h"

namespace hoplite::node {

class Drainage {
 public:
  explicit Drainage(Context& context) : context_(context), changed_(context.runtime.main()) {}

  // The node takes no new object: from the first Run on, for good.
  bool begun() const { return begun_; }
  Error Refusal() const;
  // Resolves when all is handed on, or with what is left at the call's deadline.
  net::Task<Result<DrainOutcome>> Run(CallPtr call);
  // The directory answered an EvictAsk.
  void OnAnswer(const protocol::EvictAnswer& answer);
  void Stop() { changed_.Notify(); }

 private:
  void Begin();
  net::Task<void> Work();
  Time Look();
  void ForgetVanished();
  void AddCopies();
  void LookForPeers();
  bool Goes(const store::Copy& copy);
  bool MakesSomething() const;
  DrainOutcome Outcome() const;

  Context& context_;
  net::Signal changed_;
  planner::DrainState state_;
  bool begun_ = false;
  bool done_ = false;
  std::optional<ObjectId> reached_;  // in this pass through the store
  bool all_gone_ = true;             // as far as this pass has come
  Time next_pass_{};
  std::size_t shard_ = 0;  // of which it is asked who the peers are
  bool asking_ = false;
  std::vector<CallPtr> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hoplite::node
