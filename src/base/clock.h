// Now: the time of every stamp. It is read from the machine's clock or, on the thread of a
// simulation, is the time that the simulation owns. Planners don't ask: they are told the time.
#pragma once

#include "base/time.h"

namespace hoplite {

Time Now();

// The same, but it goes on while the machine is suspended: for what others give up meanwhile. Not to
// be compared with Now().
Time NowSinceBoot();

}  // namespace hoplite
