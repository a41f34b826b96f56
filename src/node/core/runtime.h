// Runtime: a node's threads, started and stopped in one order.
//
//   main loop    owns all protocol state; everything else posts to it
//   data loops   move bytes; they touch the rest only through copies' marks and by posting
//   pool         computes checksums of what was put
//
// Every coroutine is spawned through here, so that Stop can wait until none is left: a frame that
// outlives the objects it refers to would be a use after free. A simulation never calls Start: it
// runs the loops by turns.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/mutex.h"
#include "base/time.h"
#include "net/stream.h"

namespace hoplite::node {

class Runtime {
 public:
  explicit Runtime(std::size_t data_threads);
  ~Runtime();

  asio::io_context& main() { return main_; }
  asio::io_context& data(std::size_t i) { return *data_[i % data_.size()]; }
  std::vector<asio::io_context*> data_loops();
  std::vector<asio::io_context*> all_loops();

  // resource_exhausted: the system makes no more threads.
  Result<void> Start(const std::string& thread_name);
  // Any thread. A task that ends with an exception is a bug; it is logged with `what`.
  void Spawn(asio::io_context& loop, const char* what, net::Task<void> task);
  void RunOnPool(std::function<void()> work);
  // Runs `work` on the main loop and waits for it: for start and stop, never from a loop. When the
  // loops have stopped it runs here.
  void OnMain(const std::function<void()>& work);

  // False if tasks are still left at the bound: then the loops must not be destroyed.
  bool WaitForTasks(Duration bound);
  std::size_t tasks() const;
  void JoinPool();
  void StopLoops();

 private:
  void TaskEnded();

  asio::io_context main_{1};
  std::vector<std::unique_ptr<asio::io_context>> data_;
  asio::io_context pool_{1};
  using Guard = asio::executor_work_guard<asio::io_context::executor_type>;
  std::vector<Guard> guards_;
  Guard pool_guard_{pool_.get_executor()};
  std::vector<std::thread> threads_;
  std::thread pool_thread_;

  mutable Mutex mutex_;
  Condition ended_;
  std::size_t tasks_ HOPLITE_GUARDED_BY(mutex_) = 0;
};

}  // namespace hoplite::node
