// InFlight: counts the gRPC calls of one client, so that Stop can wait until no callback runs any
// more. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>

#include "base/mutex.h"

namespace hoplite::directory {

class InFlight {
 public:
  // A call under way, until the last copy of the token is dropped.
  using Token = std::shared_ptr<void>;

  // Outlives its tokens, which WaitForNone makes sure of.
  Token Begin() {
    const MutexLock lock(mutex_);
    ++count_;
    return {this, [](InFlight* self) { self->End(); }};
  }
  void WaitForNone() {
    const MutexLock lock(mutex_);
    while (count_ > 0) none_.Wait(mutex_);
  }

 private:
  void End() {
    const MutexLock lock(mutex_);
    if (--count_ == 0) none_.NotifyAll();
  }

  Mutex mutex_;
  Condition none_;
  std::size_t count_ HOPLITE_GUARDED_BY(mutex_) = 0;
};

}  // namespace hoplite::directory
