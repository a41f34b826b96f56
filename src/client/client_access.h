// What the library itself needs of its public types.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <hoplite/client.h>

#include "base/mutex.h"
#include "base/own_process.h"
#include "base/time.h"
#include "client/connection.h"

namespace hoplite {

// A worker's connection that was lost is replaced at the next call; what was made through the old
// one (pins, drafts, subscriptions) stays its own.
struct Client::State {
  // `path` empty: a client in the node's process, whose node does not come back.
  State(std::shared_ptr<client::Connection> first, std::string path_in)
      : path(std::move(path_in)), connection(std::move(first)) {}

  // The connection to use now. If it is lost, no other could be made by `deadline`, and it says
  // why.
  std::shared_ptr<client::Connection> Now(Time deadline);
  void Close();

  const OwnProcess process;
  const std::string path;
  TimedMutex mutex;
  std::shared_ptr<client::Connection> connection HOPLITE_GUARDED_BY(mutex);
  bool closed HOPLITE_GUARDED_BY(mutex) = false;
};

class ClientAccess {
 public:
  static Client Make(std::shared_ptr<client::Connection> connection, std::string path = {});
  // From the View that answered request `id`: the buffer releases it. protocol: it is no View, or
  // not inside the segment.
  static Result<Buffer> MakeBuffer(std::shared_ptr<client::Connection> connection,
                                   const ObjectId& object, std::uint64_t id,
                                   const client::local::Answer& answer);
  static client::Pending* PendingOf(const Future<Buffer>& future);
  static bool Inherited(const Future<Buffer>& future);
};

}  // namespace hoplite
