#include "scheduler.h"

#include <algorithm>
#include <iterator>

namespace tasks {
namespace {

std::vector<Future> Among(const std::vector<Future>& futures,
                          const std::vector<hoplite::ObjectId>& ids) {
  std::vector<Future> found;
  std::ranges::copy_if(futures, std::back_inserter(found), [&ids](const Future& future) {
    return std::ranges::find(ids, future->id) != ids.end();
  });
  return found;
}

bool IsUnneeded(const std::weak_ptr<Object>& result) { return result.expired(); }

// What no task makes comes without a worker: a task may begin, and wait for it.
bool CanStart(const std::weak_ptr<Object>& result) {
  const Future future = result.lock();
  return future && std::ranges::none_of(future->needs,
                                        [](const Future& needed) { return needed->is_to_come; });
}

}  // namespace

void Scheduler::Submit(const Future& result, Task task, std::vector<Future> needs) {
  result->task = std::move(task);
  result->task.result = result->id;
  result->needs = std::move(needs);
  result->is_to_come = true;
  result->worker = 0;
  queue_.push_back(result);
}

void Scheduler::Hear(WorkerId worker, const Message& message) {
  if (message.verb != Verb::kSubmit) free_.insert(worker);
  if (message.verb == Verb::kReady) return;
  const Future current = given_.at(worker).back().lock();
  if (!current) return;
  const Task& task = message.task;
  const std::vector<Future> needs = Among(current->needs, task.arguments);
  if (message.verb == Verb::kDone) current->is_to_come = false;
  if (message.verb == Verb::kBecome) Submit(current, task, needs);
  // A task that runs once more submits the same ones again.
  if (message.verb == Verb::kSubmit && Among(current->needs, {task.result}).empty()) {
    const auto child = std::make_shared<Object>(current->client, task.result);
    Submit(child, task, needs);
    current->needs.push_back(child);
  }
}

// Before all others, some of which may be running and wait for it.
void Scheduler::Bury(WorkerId worker) {
  free_.erase(worker);
  for (const Result& result : given_[worker]) {
    const Future future = result.lock();
    if (!future || future->worker != worker) continue;
    future->worker = 0;
    future->is_to_come = true;
    queue_.push_front(result);
  }
  given_.erase(worker);
}

std::optional<std::pair<WorkerId, Task>> Scheduler::NextStart() {
  std::erase_if(queue_, IsUnneeded);
  const auto next = std::ranges::find_if(queue_, CanStart);
  if (free_.empty() || next == queue_.end()) return {};
  const Future result = next->lock();
  const WorkerId worker = *free_.begin();
  queue_.erase(next);
  free_.erase(worker);
  std::erase_if(given_[worker], IsUnneeded);
  given_[worker].push_back(result);
  result->worker = worker;
  return std::pair(worker, result->task);
}

}  // namespace tasks
