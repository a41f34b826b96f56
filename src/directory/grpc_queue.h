// GrpcQueue: a completion queue of gRPC and the one thread that waits at it.
//
// That thread reads from the sockets, and runs itself what follows: what an operation's end is
// answered with, and work that was posted. So a message is read, understood and answered without a
// hand-over to another thread, each of which takes tens of microseconds where processors sleep.
// Decides: nothing. Must never: spin, or leave the end of an operation unheard.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include "base/mutex.h"

namespace hoplite::directory {

class GrpcQueue {
 public:
  // On the queue's thread. `ok` is what gRPC says of the operation.
  using Then = std::function<void(bool ok)>;
  using Work = std::function<void()>;

  // Until Start ends are not heard.
  explicit GrpcQueue(std::unique_ptr<grpc::CompletionQueue> queue);
  ~GrpcQueue();  // stops
  GrpcQueue(const GrpcQueue&) = delete;
  GrpcQueue& operator=(const GrpcQueue&) = delete;

  // Throws std::system_error where the system makes no more threads.
  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  // Any thread. Runs soon, in the order of coming, and when all is done that has ended by then. What
  // comes before Stop runs before that ends, what comes later never.
  void Post(Work work);
  // Every operation must have ended, and none may begin. Waits for the thread; idempotent.
  void Stop();

  grpc::CompletionQueue& queue() { return *queue_; }
  // What tells an operation what to do at its end, which must come.
  static void* Tag(Then then);

 private:
  void Run();
  void Wake() HOPLITE_REQUIRES(mutex_);
  bool Next(bool wait);
  bool RunPosted();

  struct Operation;

  const std::unique_ptr<grpc::CompletionQueue> queue_;
  grpc::Alarm alarm_;
  std::thread thread_;

  Mutex mutex_;
  std::vector<Work> posted_ HOPLITE_GUARDED_BY(mutex_);
  std::thread::id runner_ HOPLITE_GUARDED_BY(mutex_);  // looks at posted_ before it waits
  bool woken_ HOPLITE_GUARDED_BY(mutex_) = false;      // by the alarm, and has not heard it yet
  bool stopped_ HOPLITE_GUARDED_BY(mutex_) = false;
};

}  // namespace hoplite::directory
