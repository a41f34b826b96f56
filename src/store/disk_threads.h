// DiskThreads: threads that carry out what waits for a disk, first come first served.
//
// Must never: make whoever destroys it wait for a disk that does not answer. A thread that hangs is
// left behind, with what its work refers to.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <hoplite/result.h>

#include "base/mutex.h"

namespace hoplite::store {

class DiskThreads {
 public:
  using Work = std::function<void()>;

  DiskThreads() : queue_(std::make_shared<Queue>()) {}
  ~DiskThreads();
  DiskThreads(const DiskThreads&) = delete;
  DiskThreads& operator=(const DiskThreads&) = delete;

  // resource_exhausted: the system makes no more threads.
  Result<void> Start(std::size_t count, const std::string& name);
  void Add(Work work);

 private:
  struct Queue {
    Mutex mutex;
    Condition changed;
    std::deque<Work> work HOPLITE_GUARDED_BY(mutex);
    bool ends HOPLITE_GUARDED_BY(mutex) = false;
    std::size_t running HOPLITE_GUARDED_BY(mutex) = 0;  // threads

    // None: it ends.
    Work Next();
  };

  const std::shared_ptr<Queue> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace hoplite::store
