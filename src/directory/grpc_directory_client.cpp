#include "directory/grpc_directory_client.h"

#include <utility>

#include "directory/grpc_port.h"
#include "directory/sharded_client.h"

namespace hoplite::directory {

std::unique_ptr<DirectoryClient> MakeGrpcDirectoryClient(asio::io_context& loop,
                                                         GrpcDirectoryClientOptions options) {
  const std::shared_ptr<GrpcQueue> queue = StartGrpcQueue();
  std::vector<std::unique_ptr<ShardPort>> ports;
  for (const std::string& shard : options.shards) ports.push_back(MakeGrpcPort(loop, queue, shard));
  return std::make_unique<ShardedClient>(
      loop, std::move(ports), ShardedClient::Options{std::move(options.cluster), options.times});
}

}  // namespace hoplite::directory
