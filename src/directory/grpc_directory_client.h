// The DirectoryClient that speaks gRPC to the shards of a cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "directory/directory_client.h"
#include "directory/shard_link.h"

namespace hoplite::directory {

struct GrpcDirectoryClientOptions {
  std::vector<std::string> shards;  // all, in the order that everybody uses; not empty
  std::string cluster;
  LinkTimes times;
};

// Everything happens on `loop`, which must outlive the client. Stop blocks until gRPC's threads are
// done with it (milliseconds; they never wait for the loop).
std::unique_ptr<DirectoryClient> MakeGrpcDirectoryClient(asio::io_context& loop,
                                                         GrpcDirectoryClientOptions options);

}  // namespace hoplite::directory
