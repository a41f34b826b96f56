// ShardPort: how a node reaches one shard. The seam between ShardLink, which knows what to say, and
// what carries it: TCP, or a call in the same process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "protocol/views.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

// One attempt at a session. Used on the node's loop.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void Send(wire::NodeMessage message) = 0;
  virtual void Close() = 0;  // nothing is sent or received afterwards
};

class ShardPort {
 public:
  virtual ~ShardPort() = default;
  // The shard's members, in the order of the list. One needs no name.
  virtual std::vector<std::string> members() const { return {""}; }
  // Says hello to that member; `receive` runs on the node's loop with each message of the shard. The last has
  // `ended`, also when the shard can't be reached. An empty one says that the attempt gets on.
  virtual std::unique_ptr<Connection> Open(const std::string& member, wire::Hello hello,
                                           std::function<void(wire::ShardMessage)> receive) = 0;
  // `done` runs on the node's loop; it may stay away after the timeout.
  virtual void Find(const ObjectId& object, Duration timeout,
                    std::function<void(Result<protocol::ObjectView>)> done) = 0;
  virtual void Status(const protocol::PageRequest& page, Duration timeout,
                      std::function<void(Result<protocol::StatusPage>)> done) = 0;
  // Returns when no thread works for this port any longer. Connections were closed before.
  virtual void Stop() = 0;
};

}  // namespace hoplite::directory
