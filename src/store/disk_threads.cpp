#include "store/disk_threads.h"

#include <chrono>
#include <utility>

#include <pthread.h>

#include "base/clock.h"
#include "base/exhaustion.h"
#include "base/try.h"

namespace hoplite::store {
namespace {

// A disk that answers is done with a piece long before.
constexpr Duration kEndsWithin = std::chrono::milliseconds(500);

}  // namespace

DiskThreads::Work DiskThreads::Queue::Next() {
  const MutexLock lock(mutex);
  while (work.empty() && !ends) changed.Wait(mutex);
  if (ends) {
    --running;
    changed.NotifyAll();
    return nullptr;
  }
  Work next = std::move(work.front());
  work.pop_front();
  return next;
}

Result<void> DiskThreads::Start(std::size_t count, const std::string& name) {
  for (std::size_t i = 0; i < count; ++i) {
    TRY_ASSIGN(std::thread thread, StartThread([queue = queue_, name] {
                 pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
                 while (const Work work = queue->Next()) work();
               }));
    threads_.push_back(std::move(thread));
    const MutexLock lock(queue_->mutex);
    ++queue_->running;
  }
  return {};
}

void DiskThreads::Add(Work work) {
  const MutexLock lock(queue_->mutex);
  queue_->work.push_back(std::move(work));
  queue_->changed.NotifyOne();
}

DiskThreads::~DiskThreads() {
  std::deque<Work> left;
  bool all_ended = false;
  {
    const MutexLock lock(queue_->mutex);
    queue_->ends = true;
    left.swap(queue_->work);
    queue_->changed.NotifyAll();
    const Time until = Now() + kEndsWithin;
    while (queue_->running > 0 && queue_->changed.WaitUntil(queue_->mutex, until)) {
    }
    all_ended = queue_->running == 0;
  }
  for (std::thread& thread : threads_) {
    if (all_ended && thread.get_id() != std::this_thread::get_id()) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

}  // namespace hoplite::store
