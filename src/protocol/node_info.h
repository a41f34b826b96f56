// How a member is named and reached.
#pragma once

#include <string>

#include "base/ids.h"

namespace hoplite::protocol {

struct NodeInfo {
  NodeId id = kNoNode;
  std::string name;     // unique among open sessions; people and errors use it
  std::string address;  // HOST:PORT of its data plane, as peers reach it
};

}  // namespace hoplite::protocol
