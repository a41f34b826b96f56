// The state behind Future<Buffer>.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <hoplite/future.h>

#include "client/client_access.h"

namespace hoplite {

template <>
struct Future<Buffer>::State {
  State(std::shared_ptr<client::Connection> connection_in, client::PendingPtr pending_in,
        const ObjectId& object_in, Time deadline_in);
  ~State();
  Result<Buffer> Wait(Time until);
  Result<Buffer> Convert();

  const std::shared_ptr<client::Connection> connection;
  const client::PendingPtr pending;
  const ObjectId object;
  const Time deadline;
  std::mutex mutex;
  // Made of the answer by the first who asks; under the mutex.
  std::optional<Result<Buffer>> result;
};

}  // namespace hoplite
