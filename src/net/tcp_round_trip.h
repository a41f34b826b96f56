// What the kernel knows of a connection, which its own headers describe more fully than the C
// library's; the two don't go together, so nothing else is included here.
#pragma once

#include "base/time.h"

namespace hoplite::net {

// The least time from a segment to its acknowledgement in the last minutes: no process and no queue
// of ours is in it. 0: not known.
Duration RoundTrip(int socket);

}  // namespace hoplite::net
