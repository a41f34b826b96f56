// The first words on a connection: same protocol, same cluster, and the node that was meant. Both
// sides are bounded in time and memory, whatever the other side does. On an error the stream is
// closed.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/ids.h"
#include "net/connection.h"

namespace hoplite::net {

inline constexpr Duration kHandshakeTimeout = std::chrono::seconds(5);

struct Identity {
  std::uint64_t cluster = 0;
  NodeId self = kNoNode;
};

// The connecting side: unavailable with the refusal's text, or "… within 5 s"; protocol if the
// other side doesn't speak ours.
Task<Result<ConnectionPtr>> Greet(StreamPtr stream, Identity self, NodeId expected,
                                  Duration timeout = kHandshakeTimeout);
// The accepting side: refuses in words where the other side can understand them.
Task<Result<ConnectionPtr>> Answer(StreamPtr stream, Identity self,
                                   Duration timeout = kHandshakeTimeout);

}  // namespace hoplite::net
