// The ShardPort that reaches a shard by gRPC.
#pragma once

#include <memory>
#include <string>

#include <asio/io_context.hpp>

#include "directory/shard_port.h"

namespace hoplite::directory {

class GrpcQueue;

// One that runs. Throws std::system_error where the system makes no more threads.
std::shared_ptr<GrpcQueue> StartGrpcQueue();

// What the shard says is read on the queue's thread; the queue stops with its last port.
std::unique_ptr<ShardPort> MakeGrpcPort(asio::io_context& loop, std::shared_ptr<GrpcQueue> queue,
                                        std::string address);

}  // namespace hoplite::directory
