#include <utility>

#include <hoplite/directory.h>

#include "base/try.h"
#include "directory/directory_server.h"

namespace hoplite {

struct Directory::State {
  std::unique_ptr<directory::DirectoryServer> server;
};

Result<std::unique_ptr<Directory>> Directory::Start(const DirectoryConfig& config) {
  TRY(config.Validate());
  directory::DirectoryServerOptions options;
  options.listen = config.listen;
  options.shards = config.shards;
  options.cluster = config.cluster;
  options.heartbeat = config.heartbeat;
  options.lease = config.lease;
  options.grace = config.grace;
  options.recovery_window = config.recovery_window;
  options.tombstone = config.tombstone;
  options.inline_limit_bytes = config.inline_limit_bytes;
  TRY_ASSIGN(auto server, directory::DirectoryServer::Start(options));
  return std::unique_ptr<Directory>(new Directory(std::make_unique<State>(std::move(server))));
}

Directory::Directory(std::unique_ptr<State> state) : state_(std::move(state)) {}
Directory::~Directory() = default;

std::string Directory::address() const { return state_->server->address(); }
void Directory::Stop() { state_->server->Stop(); }

}  // namespace hoplite
