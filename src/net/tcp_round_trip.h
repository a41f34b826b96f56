// What the kernel knows of a connection. The kernel's headers describe it more fully than the C
// library's, and the two can't be included together: so nothing else is included here.
#pragma once

#include "base/time.h"

namespace hoplite::net {

// The least time from a segment to its acknowledgement in the last minutes: no process and no queue
// of ours is in it. 0: not known.
Duration RoundTrip(int socket);

}  // namespace hoplite::net
