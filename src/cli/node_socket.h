// Which node a command asks, and how it comes to it.
#pragma once

#include <string>

#include <hoplite/client.h>

#include "cli/timeouts.h"

namespace hoplite::cli {

struct NodeSocket {
  std::string path;
  bool named = false;  // by --socket or HOPLITE_SOCKET; else the path is the default one
};

// $XDG_RUNTIME_DIR/hoplite.sock, else /tmp/hoplite-UID.sock.
std::string DefaultSocketPath();

// Attaches to the node at this socket; at the default path only if it is this user's or root's. The
// node may hang, so this takes no longer than the command may.
Result<Client> Attach(const NodeSocket& socket, const Deadline& deadline);

}  // namespace hoplite::cli
