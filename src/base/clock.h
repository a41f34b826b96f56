// Now: what every stamp goes by. The machine's clock, or on the thread of a simulation the time
// that it owns. Planners are told the time instead.
#pragma once

#include "base/time.h"

namespace hoplite {

Time Now();

}  // namespace hoplite
