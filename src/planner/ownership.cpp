#include "planner/ownership.h"

namespace hoplite::planner {

void Ownership::On(NodeId /*node*/, const Owner& /*event*/) {}
void Ownership::On(NodeId /*node*/, const Owned& /*event*/) {}

}  // namespace hoplite::planner
