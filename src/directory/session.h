// Session: one node's open conversation, as the service sees it. One implementation writes to a
// gRPC stream, the other posts to a loop of the same process.
#pragma once

#include <cstddef>
#include <memory>

#include "wire/directory_session.h"

namespace hoplite::directory {

// Called on the service's loop.
class Session {
 public:
  virtual ~Session() = default;

  // False when the node reads so slowly that the bound on what waits for it is passed; the service
  // then aborts the session.
  virtual bool Send(wire::ShardMessage message) = 0;
  // One message of this session was taken in: it may read on.
  virtual void Processed() = 0;
  // Says why, then ends; drops what still waits. Nothing is sent afterwards.
  virtual void End(wire::Ended why) = 0;
  // Ends at once, without words: the other side may be frozen.
  virtual void Abort() = 0;
};

using SessionPtr = std::shared_ptr<Session>;

}  // namespace hoplite::directory
