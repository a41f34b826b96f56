// LoopGate: how threads that may outlive a node post to its main loop: not after the node has closed
// it. Any thread.
#pragma once

#include <functional>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "base/mutex.h"

namespace hoplite::node {

class LoopGate {
 public:
  explicit LoopGate(asio::io_context& loop) : loop_(&loop) {}

  void Post(std::function<void()> work) {
    const MutexLock lock(mutex_);
    if (loop_ != nullptr) asio::post(*loop_, std::move(work));
  }
  void Close() {
    const MutexLock lock(mutex_);
    loop_ = nullptr;
  }

 private:
  Mutex mutex_;
  asio::io_context* loop_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::node
