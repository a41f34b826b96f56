#include "node/shard/admittance.h"

#include <utility>

namespace hoplite::node {

void Admittance::Settled(std::size_t shard) {
  const MutexLock lock(mutex_);
  settled_.insert(shard);
  changed_.NotifyAll();
}

void Admittance::Refused(Error why) {
  const MutexLock lock(mutex_);
  if (!refusal_) refusal_ = std::move(why);
  changed_.NotifyAll();
}

Result<void> Admittance::Wait(std::size_t shards) {
  const MutexLock lock(mutex_);
  while (!refusal_ && settled_.size() != shards) changed_.Wait(mutex_);
  if (refusal_) return std::unexpected(*refusal_);
  return {};
}

std::optional<Error> Admittance::refusal() const {
  const MutexLock lock(mutex_);
  return refusal_;
}

}  // namespace hoplite::node
