// InFlight: counts the gRPC calls of one client, so that Stop can wait until no callback runs any
// more. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

namespace hoplite::directory {

class InFlight {
 public:
  // A call under way, until the last copy of the token is dropped.
  using Token = std::shared_ptr<void>;

  // Outlives its tokens, which WaitForNone makes sure of.
  Token Begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
    return {this, [](InFlight* self) { self->End(); }};
  }
  void WaitForNone() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  void End() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

}  // namespace hoplite::directory
