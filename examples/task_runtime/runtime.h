// Runtime: tasks with futures, run by worker processes.
#pragma once

#include <map>
#include <mutex>
#include <thread>

#include <hoplite/hoplite.h>

#include "scheduler.h"
#include "worker.h"

namespace tasks {

// Belongs to one process, the driver. All calls may come from any thread.
class Runtime {
 public:
  static hoplite::Result<std::unique_ptr<Runtime>> Start(std::size_t workers);
  ~Runtime();  // ends the workers

  // A future is named first, so that it can be handed on before anybody knows how it is made.
  Future Name() { return std::make_shared<Object>(client_, hoplite::ObjectId::Random()); }
  // Returns at once; the task runs when its arguments are there.
  void Submit(const Future& result, Task task, const std::vector<Future>& arguments);
  hoplite::Result<hoplite::ObjectId> Put(const Future& future, std::span<const std::byte> bytes);
  // Waits until it is there; if its task failed, gives the error of that.
  hoplite::Result<hoplite::Buffer> Get(const Future& future, std::chrono::milliseconds timeout);

  // For what goes by ids: WaitExists, and Reduce, which takes results that are still to come.
  hoplite::Client client() const { return client_; }

  // To see it fail: kill -9 of the worker that runs the task, or ran it. False: there is none.
  bool KillWorkerOf(const Future& result);

 private:
  Runtime(std::unique_ptr<hoplite::Directory> directory, std::unique_ptr<hoplite::Node> node);
  void KeepWorker();
  std::shared_ptr<Worker> StartWorker();
  void StartTasks();

  std::unique_ptr<hoplite::Directory> directory_;
  std::unique_ptr<hoplite::Node> node_;
  hoplite::Client client_;

  std::mutex mutex_;  // guards these four
  Scheduler scheduler_;
  std::map<WorkerId, std::shared_ptr<Worker>> workers_;
  WorkerId last_worker_ = 0;
  bool stopping_ = false;
  std::vector<std::jthread> keepers_;
};

}  // namespace tasks
