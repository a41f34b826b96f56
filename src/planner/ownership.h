// Ownership: who owns which id, and when an object goes because nobody does (R50-R55).
#pragma once

#include "base/ids.h"
#include "planner/words.h"

namespace hoplite::planner {

class Ownership {
 public:
  void On(NodeId node, const Owner& event);
  void On(NodeId node, const Owned& event);
};

}  // namespace hoplite::planner
