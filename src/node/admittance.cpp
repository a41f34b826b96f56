#include "node/admittance.h"

#include <utility>

namespace hoplite::node {

void Admittance::Settled(std::size_t shard) {
  const std::lock_guard lock(mutex_);
  settled_.insert(shard);
  changed_.notify_all();
}

void Admittance::Refused(Error why) {
  const std::lock_guard lock(mutex_);
  if (!refusal_) refusal_ = std::move(why);
  changed_.notify_all();
}

Result<void> Admittance::Wait(std::size_t shards) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return refusal_ || settled_.size() == shards; });
  if (refusal_) return std::unexpected(*refusal_);
  return {};
}

std::optional<Error> Admittance::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

}  // namespace hoplite::node
