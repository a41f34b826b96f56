// Admittance: whether the directory takes this node.
//
// Is told: of each shard that it was heard, or can't be for now; that one refuses the node for
// good. Answers: the start of the node, which waits for the first word of every shard, and whoever
// asks later. Any thread.
#pragma once

#include <optional>
#include <set>

#include <hoplite/result.h>

#include "base/mutex.h"

namespace hoplite::node {

class Admittance {
 public:
  void Settled(std::size_t shard);
  void Refused(Error why);  // the first reason stays

  // Until all `shards` have settled, or one refused: then its reason. Never from a loop. A shard
  // link settles within seconds, whatever the shard does.
  Result<void> Wait(std::size_t shards);
  std::optional<Error> refusal() const;

 private:
  mutable Mutex mutex_;
  Condition changed_;
  std::set<std::size_t> settled_ HOPLITE_GUARDED_BY(mutex_);
  std::optional<Error> refusal_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::node
