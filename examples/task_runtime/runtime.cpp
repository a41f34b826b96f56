#include "runtime.h"

namespace tasks {

using hoplite::Result;
using namespace std::chrono_literals;

Result<std::unique_ptr<Runtime>> Runtime::Start(std::size_t workers) {
  auto directory = hoplite::Directory::Start({.recovery_window = 0ms});  // nobody was there before
  if (!directory) return std::unexpected(directory.error());
  auto node = hoplite::Node::Start(
      {.directory = {(*directory)->address()}, .memory_bytes = kMemoryBytes, .name = "driver"});
  if (!node) return std::unexpected(node.error());
  std::unique_ptr<Runtime> runtime(new Runtime(*std::move(directory), *std::move(node)));
  while (runtime->keepers_.size() < workers) {
    runtime->keepers_.emplace_back([self = runtime.get()] { self->KeepWorker(); });
  }
  return runtime;
}

Runtime::Runtime(std::unique_ptr<hoplite::Directory> directory, std::unique_ptr<hoplite::Node> node)
    : directory_(std::move(directory)), node_(std::move(node)), client_(node_->client()) {}

Runtime::~Runtime() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [id, worker] : workers_) worker->Kill();
  }
  keepers_.clear();
}

void Runtime::Submit(const Future& result, Task task, const std::vector<Future>& arguments) {
  for (const Future& argument : arguments) task.arguments.push_back(argument->id);
  const std::lock_guard lock(mutex_);
  scheduler_.Submit(result, std::move(task), arguments);
  StartTasks();
}

Result<hoplite::ObjectId> Runtime::Put(const Future& future, std::span<const std::byte> bytes) {
  return client_.Put(bytes, {.id = future->id});
}

Result<hoplite::Buffer> Runtime::Get(const Future& future, std::chrono::milliseconds timeout) {
  return client_.Get(future->id, {.timeout = timeout});
}

bool Runtime::KillWorkerOf(const Future& result) {
  const std::lock_guard lock(mutex_);
  const auto found = workers_.find(result->worker);
  if (found != workers_.end()) found->second->Kill();
  return found != workers_.end();
}

// What a keeper does: it starts a worker, hears it until it dies, and starts the next one. A worker
// that dies before it is ready would only do so again.
void Runtime::KeepWorker() {
  bool is_good = true;
  while (const auto worker = is_good ? StartWorker() : nullptr) {
    is_good = false;
    while (const auto message = Receive(worker->socket)) {
      is_good = true;
      const std::lock_guard lock(mutex_);
      scheduler_.Hear(worker->id, *message);
      StartTasks();
    }
    const std::lock_guard lock(mutex_);
    workers_.erase(worker->id);
    scheduler_.Bury(worker->id);
    StartTasks();
  }
}

std::shared_ptr<Worker> Runtime::StartWorker() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return nullptr;
  const WorkerId id = ++last_worker_;
  return workers_[id] = std::make_shared<Worker>(id, directory_->address());
}

void Runtime::StartTasks() {
  while (const auto start = scheduler_.NextStart()) {
    Send(workers_.at(start->first)->socket, {.verb = Verb::kRun, .task = start->second});
  }
}

}  // namespace tasks
