#include "directory/tcp_directory_client.h"

#include <utility>

#include "directory/sharded_client.h"
#include "directory/tcp_port.h"

namespace hoplite::directory {

std::unique_ptr<DirectoryClient> MakeTcpDirectoryClient(asio::io_context& loop,
                                                        TcpDirectoryOptions options) {
  std::vector<std::unique_ptr<ShardPort>> ports;
  for (const std::string& shard : options.shards) {
    ports.push_back(MakeTcpPort(loop, shard, options.security));
  }
  return std::make_unique<ShardedClient>(
      loop, std::move(ports),
      ShardedClient::Options{std::move(options.cluster), options.times, {}});
}

}  // namespace hoplite::directory
