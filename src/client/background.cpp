#include "client/background.h"

#include <utility>

#include "base/exhaustion.h"
#include "base/try.h"

namespace hoplite::client {

Result<void> Background::Do(Work work) {
  const MutexLock lock(queue_->mutex);
  queue_->waiting.push_back(std::move(work));
  if (queue_->worked_on) return {};
  auto started = StartThread([queue = queue_] { WorkOff(queue); });
  if (!started) {
    queue_->waiting.clear();
    return std::unexpected(started.error());
  }
  started->detach();
  queue_->worked_on = true;
  return {};
}

void Background::WorkOff(const std::shared_ptr<Queue>& queue) {
  for (;;) {
    Work work;
    {
      const MutexLock lock(queue->mutex);
      queue->worked_on = !queue->waiting.empty();
      if (!queue->worked_on) return;
      work = std::move(queue->waiting.front());
      queue->waiting.pop_front();
    }
    work();
  }
}

}  // namespace hoplite::client
