// Outbox: what the shard has to say and nobody has fetched yet, in order.
//
// Decides: nothing. Is told: actions, whom nobody talks to for now, and whose session ended. Must
// never: keep what was meant for a session that is over. A value type.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class Outbox {
 public:
  void Add(NodeId to, NodeAction&& body, MoveReason why = MoveReason::kNone) {
    if (to != silenced_) actions_.push_back({to, std::move(body), why});
  }
  // Nothing is said to this node from now on; kNoNode: everybody is told again.
  void Silence(NodeId node) { silenced_ = node; }
  void DropFor(NodeId node) {
    std::erase_if(actions_, [&](const Action& action) { return action.to == node; });
  }
  std::size_t size() const { return actions_.size(); }
  std::vector<Action> Take() { return std::exchange(actions_, {}); }

  void AddTo(Digest& digest) const {
    for (const Action& action : actions_) {
      digest.Add(Raw(action.to)).Add(action.body.index()).Add(ObjectOf(action.body));
    }
  }

 private:
  std::vector<Action> actions_;
  NodeId silenced_ = kNoNode;
};

}  // namespace hoplite::planner
