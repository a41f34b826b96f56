// The ShardPort that reaches a shard by TCP.
#pragma once

#include <memory>
#include <string>

#include <asio/io_context.hpp>

#include "directory/shard_port.h"
#include "net/security.h"

namespace hoplite::directory {

// Sessions and questions have a connection each, on `loop`; by TLS unless `security` is null.
// `address` is that of a shard: of all its members, with slashes between.
std::unique_ptr<ShardPort> MakeTcpPort(asio::io_context& loop, std::string address,
                                       net::SecurityPtr security);

}  // namespace hoplite::directory
