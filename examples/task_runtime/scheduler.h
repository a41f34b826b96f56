// Scheduler: decides which worker runs which task, and which tasks run again because a worker died.
//
// It is told what happens, one thing after the other. It knows no process and no object's bytes,
// and waits for nobody.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <hoplite/client.h>

#include "message.h"

namespace tasks {

struct Object;
// Copy it, hand it on: with its last copy the object is deleted everywhere.
using Future = std::shared_ptr<Object>;
using WorkerId = std::uint64_t;  // of one process; never used again

struct Object {
  Object(hoplite::Client client_in, const hoplite::ObjectId& id_in)
      : client(std::move(client_in)), id(id_in) {}
  Object(const Object&) = delete;
  ~Object() { (void)client.Delete(id, {.timeout = std::chrono::seconds(1)}); }

  hoplite::Client client;
  const hoplite::ObjectId id;
  // The rest is the scheduler's.
  Task task = {};                  // that makes it, and can do so again
  std::vector<Future> needs = {};  // its arguments, and what it submitted
  bool is_to_come = false;         // the task has not ended
  WorkerId worker = 0;             // that runs it, or ran it; 0: none did
};

class Scheduler {
 public:
  // `needs`: the futures of the task's arguments.
  void Submit(const Future& result, Task task, std::vector<Future> needs);
  // What a worker says.
  void Hear(WorkerId worker, const Message& message);
  // The worker is dead: others shall make again what it made, and what it was making.
  void Bury(WorkerId worker);
  // Who shall run what now; empty: nobody is free, or no task has its arguments.
  std::optional<std::pair<WorkerId, Task>> NextStart();

 private:
  using Result = std::weak_ptr<Object>;  // expired: nobody needs it any more

  std::deque<Result> queue_;
  std::set<WorkerId> free_;
  std::map<WorkerId, std::vector<Result>> given_;  // the last one is what the worker runs
};

}  // namespace tasks
