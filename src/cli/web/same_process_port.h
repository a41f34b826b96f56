// SameProcessPort: asks a shard of this process. Answers come on the asker's loop, and none after Stop.
// The shard has one thread, which answers in time or hangs as a whole, so timeouts don't count here.
#pragma once

#include <memory>
#include <utility>

#include <asio/io_context.hpp>

#include "directory/directory_service.h"
#include "directory/shard_port.h"

namespace hoplite::cli::web {

class SameProcessPort final : public directory::ShardPort {
 public:
  SameProcessPort(asio::io_context& loop, std::shared_ptr<directory::DirectoryService> shard);
  ~SameProcessPort() override { Stop(); }

  // There are no sessions: null.
  std::unique_ptr<directory::Connection> Open(
      const std::string& member, wire::Hello hello,
      std::function<void(wire::ShardMessage)> receive) override;
  void Find(const ObjectId& object, Duration timeout,
            std::function<void(Result<protocol::ObjectView>)> done) override;
  void Status(const protocol::PageRequest& page, Duration timeout,
              std::function<void(Result<protocol::StatusPage>)> done) override;
  void Stop() override;

 private:
  class Gate;
  const std::shared_ptr<directory::DirectoryService> shard_;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace hoplite::cli::web
