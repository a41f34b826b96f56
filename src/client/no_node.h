// Why a client could not connect to its node's socket.
#pragma once

#include <string>

#include <hoplite/result.h>

namespace hoplite::client {

// From connect's errno.
//   invalid_argument  this user may not use the socket: who may, and what would help
//   unavailable       no node is there now
Error NoNode(const std::string& path, int number);

}  // namespace hoplite::client
