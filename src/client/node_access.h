// What the program needs of a node beside its public interface.
#pragma once

#include <hoplite/node.h>

#include "base/metric.h"

namespace hoplite {

class NodeAccess {
 public:
  // What the node counts and measures. Waits for its main loop.
  static Metrics MetricsOf(const Node& node);
};

}  // namespace hoplite
