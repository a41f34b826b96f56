// The state behind Future<Buffer>.
#pragma once

#include <memory>
#include <optional>

#include <hoplite/future.h>

#include "base/mutex.h"
#include "client/client_access.h"

namespace hoplite {

template <>
class FutureState<Buffer> {
 public:
  FutureState(std::shared_ptr<client::Connection> connection, client::PendingPtr pending,
              const ObjectId& object, Time deadline);
  ~FutureState();  // nobody wants the answer any more, if nobody took it
  Result<Buffer> Wait(Time until);
  void Cancel();
  bool ready() const { return inherited() || pending_->settled(); }
  bool inherited() const { return connection_->inherited(); }
  client::Pending& pending() { return *pending_; }

 private:
  Result<Buffer> Convert();

  const std::shared_ptr<client::Connection> connection_;
  const client::PendingPtr pending_;
  const ObjectId object_;
  const Time deadline_;
  Mutex mutex_;
  // Made of the answer by the first thread that asks.
  std::optional<Result<Buffer>> result_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite
