// What the library itself needs of its public types.
#pragma once

#include <memory>

#include <hoplite/client.h>

#include "client/connection.h"

namespace hoplite {

struct Client::State {
  std::shared_ptr<client::Connection> connection;
};

class ClientAccess {
 public:
  static Client Make(std::shared_ptr<client::Connection> connection);
  // From the View that answered request `id`: the buffer releases it. protocol: it is no View, or
  // not inside the segment.
  static Result<Buffer> MakeBuffer(std::shared_ptr<client::Connection> connection,
                                   const ObjectId& object, std::uint64_t id,
                                   const client::local::Answer& answer);
  static client::Pending* PendingOf(const Future<Buffer>& future);
};

}  // namespace hoplite
