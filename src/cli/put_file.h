// Stores a file as an object without holding it in memory: its bytes are read straight into the
// node's store, and other nodes may pull them while that goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <hoplite/client.h>

#include "cli/timeouts.h"

namespace hoplite::cli {

// `path` may be "-", standard input. What has no size beforehand (a pipe, a file of /proc) is read
// to its end into memory first; resource_exhausted as soon as that is more than the node has. Gives
// the object's size. Of the options `id` (not zero) and `dtype` count. The deadline is for the node's
// answers, not for the input.
Result<std::uint64_t> PutFile(Client& client, const PutOptions& options, const std::string& path,
                              const Deadline& deadline = Deadline(kAnswerTimeout));

}  // namespace hoplite::cli
