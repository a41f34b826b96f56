// Worker: a process that runs tasks, one at a time. It is this program once more, with a node of its
// own, as if it were on another machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "call.h"
#include "scheduler.h"

namespace tasks {

inline constexpr std::uint64_t kMemoryBytes = 64 * 1024 * 1024;  // of each node

// What the driver has of it. The process lives no longer than this.
class Worker {
 public:
  Worker(WorkerId id, const std::string& directory);
  ~Worker();
  Worker(const Worker&) = delete;

  void Kill() const;  // kill -9

  const WorkerId id;
  int socket = -1;

 private:
  int pid_ = -1;  // could not be started
};

// main() begins with it. In a worker's process it runs tasks until the driver has ended, and gives
// the exit status; in any other it gives nothing, at once.
std::optional<int> RunIfWorker(int argc, char** argv, const Functions& functions);

}  // namespace tasks
