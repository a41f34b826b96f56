// The ShardPort that reaches a shard by gRPC.
#pragma once

#include <memory>
#include <string>

#include <asio/io_context.hpp>

#include "directory/shard_port.h"

namespace hoplite::directory {

std::unique_ptr<ShardPort> MakeGrpcPort(asio::io_context& loop, std::string address);

}  // namespace hoplite::directory
