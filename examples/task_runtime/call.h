// Call: what the function of a task is given, in the worker that runs it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/client.h>

#include "message.h"

namespace tasks {

class Call;
// Each answers once, with Return or Become. Or it gives an error, which all are told who ask for the
// result.
using Functions = std::map<std::string, hoplite::Result<void> (*)(Call& call)>;

class Call {
 public:
  Call(int driver, hoplite::Client client, Task task)
      : driver_(driver), client_(std::move(client)), task_(std::move(task)) {}

  const std::string& text() const { return task_.text; }
  // In shared memory, not copied.
  std::span<const std::byte> argument(std::size_t i) const { return arguments_.at(i).bytes(); }

  // The result is these bytes.
  hoplite::Result<void> Return(std::span<const std::byte> bytes);
  // One more task; gives the id of its result. Who needs that becomes a task that has it as an
  // argument: to wait for it here would keep this worker from making it.
  hoplite::ObjectId Submit(Task task);
  // The result is that of this task.
  hoplite::Result<void> Become(Task task);

  // Calls the function. Gives what the driver is to be told.
  Message Run(const Functions& functions);

 private:
  hoplite::Result<void> Try(const Functions& functions);

  int driver_;
  hoplite::Client client_;
  Task task_;
  std::vector<hoplite::Buffer> arguments_;
  std::size_t submitted_ = 0;
  std::optional<Message> answer_;
};

}  // namespace tasks
