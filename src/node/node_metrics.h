// What a node counts and measures, for whoever watches it from outside. docs/observability.md has the
// same list. Main loop only.
#pragma once

#include "base/metric.h"

namespace hoplite::node {

struct Assembly;
class LocalClients;

// Looks at every copy.
Metrics MetricsOf(Assembly& node, const LocalClients& clients);

}  // namespace hoplite::node
