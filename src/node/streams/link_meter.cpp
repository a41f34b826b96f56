#include "node/streams/link_meter.h"

namespace hoplite::node {

std::shared_ptr<LinkMeter::Bytes> LinkMeter::Sends(const ObjectId& object) {
  used_.Notify();
  const MutexLock lock(mutex_);
  std::shared_ptr<Bytes>& bytes = sent_[object];
  if (bytes == nullptr) bytes = std::make_shared<Bytes>(0);
  return bytes;
}

std::map<ObjectId, std::uint64_t> LinkMeter::Take() {
  std::map<ObjectId, std::uint64_t> taken;
  const MutexLock lock(mutex_);
  for (const auto& [object, bytes] : sent_) taken[object] = bytes->exchange(0);
  // Nobody else holds these.
  std::erase_if(sent_, [](const auto& at) { return at.second.use_count() == 1; });
  return taken;
}

}  // namespace hoplite::node
