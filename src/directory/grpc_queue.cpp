#include "directory/grpc_queue.h"

#include <atomic>
#include <utility>

#include <grpc/support/time.h>

namespace hoplite::directory {
namespace {

// So many ends are heard at most before work that waits: what comes together is worked on together.
constexpr int kAtOnce = 64;

}  // namespace

// What is to be done at its end. The thread that began it hands that over by the flag: gRPC does so,
// too, but a build that looks for races does not see it.
struct GrpcQueue::Operation {
  Then then;
  std::atomic<bool> begun{false};
};

void* GrpcQueue::Tag(Then then) {
  auto* operation = new Operation{std::move(then)};
  operation->begun.store(true, std::memory_order_release);
  return operation;
}

GrpcQueue::GrpcQueue(std::unique_ptr<grpc::CompletionQueue> queue) : queue_(std::move(queue)) {}

GrpcQueue::~GrpcQueue() { Stop(); }

void GrpcQueue::Post(Work work) {
  const MutexLock lock(mutex_);
  if (stopped_) return;
  posted_.push_back(std::move(work));
  if (runner_ != std::this_thread::get_id()) Wake();
}

// The alarm is set again only when it has been heard.
void GrpcQueue::Wake() {
  if (std::exchange(woken_, true)) return;
  alarm_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), Tag([this](bool) {
               const MutexLock lock(mutex_);
               woken_ = false;
             }));
}

void GrpcQueue::Stop() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    queue_->Shutdown();
  }
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Run();
  }
}

void GrpcQueue::Run() {
  {
    const MutexLock lock(mutex_);
    runner_ = std::this_thread::get_id();
  }
  for (bool idle = true; Next(idle); idle = !RunPosted()) {
  }
  while (RunPosted()) {
  }
}

// Hears what has ended; `wait`: at least one thing. False: nothing ends any more.
bool GrpcQueue::Next(bool wait) {
  void* tag = nullptr;
  bool ok = false;
  for (int heard = 0; heard < kAtOnce; ++heard) {
    const auto until = wait && heard == 0 ? gpr_inf_future(GPR_CLOCK_MONOTONIC)
                                          : gpr_inf_past(GPR_CLOCK_MONOTONIC);
    switch (queue_->AsyncNext(&tag, &ok, until)) {
      case grpc::CompletionQueue::SHUTDOWN:
        return false;
      case grpc::CompletionQueue::TIMEOUT:
        return true;
      case grpc::CompletionQueue::GOT_EVENT: {
        const std::unique_ptr<Operation> ended(static_cast<Operation*>(tag));
        static_cast<void>(
            ended->begun.load(std::memory_order_acquire));  // never false: see Operation
        ended->then(ok);
      }
    }
  }
  return true;
}

// True: more has been posted.
bool GrpcQueue::RunPosted() {
  std::vector<Work> works;
  {
    const MutexLock lock(mutex_);
    works.swap(posted_);
  }
  for (const Work& work : works) work();
  const MutexLock lock(mutex_);
  return !posted_.empty();
}

}  // namespace hoplite::directory
