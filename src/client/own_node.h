// Whose node a client takes.
#pragma once

#include <string>

#include <hoplite/result.h>

namespace hoplite::client {

// At a path that somebody named: anybody's, as the file's mode allows. At a default path, which every
// user of the host can guess and occupy: that of this process's user, or of root.
enum class NodeOf { kAnybody, kSelfOrRoot };

// Of a connected socket: who began to listen there, by the kernel.
//   invalid_argument  that is another user: who, and what would help
Result<void> RequireOwnNode(int socket, const std::string& path);

}  // namespace hoplite::client
