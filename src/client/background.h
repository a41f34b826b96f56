// Background: work that takes too long for a client's reader, one piece after the other.
//
// It has a thread while there is work, and none otherwise. The thread belongs to nobody, so a piece
// of work may own whatever owns this. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include <hoplite/result.h>

#include "base/mutex.h"

namespace hoplite::client {

class Background {
 public:
  using Work = std::function<void()>;

  // resource_exhausted: no thread can be made; it will not be done.
  Result<void> Do(Work work);

 private:
  struct Queue {
    Mutex mutex;
    std::deque<Work> waiting HOPLITE_GUARDED_BY(mutex);
    // A thread looks at it, and will until it is empty.
    bool worked_on HOPLITE_GUARDED_BY(mutex) = false;
  };
  static void WorkOff(const std::shared_ptr<Queue>& queue);

  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

}  // namespace hoplite::client
