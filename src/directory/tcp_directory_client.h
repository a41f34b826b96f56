// The DirectoryClient that reaches the shards of a cluster by TCP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "directory/directory_client.h"
#include "directory/shard_link.h"
#include "net/security.h"

namespace hoplite::directory {

struct TcpDirectoryOptions {
  std::vector<std::string> shards;  // all, in the order that everybody uses; not empty
  std::string cluster;
  LinkTimes times;
  net::SecurityPtr security;  // null: plain
};

// Everything happens on `loop`, which must outlive the client.
std::unique_ptr<DirectoryClient> MakeTcpDirectoryClient(asio::io_context& loop,
                                                        TcpDirectoryOptions options);

}  // namespace hoplite::directory
