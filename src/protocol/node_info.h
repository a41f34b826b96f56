// How a member is named and reached.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace hoplite::protocol {

struct NodeInfo {
  NodeId id = kNoNode;
  std::string name;     // unique among open sessions; people and errors use it
  std::string address;  // HOST:PORT of its data plane, as peers reach it
  std::string site;     // where its host stands; nodes of one site have fast ways to each other
  std::uint64_t link_bytes_per_second = 0;  // that its link carries each way; 0: it was not told
};

}  // namespace hoplite::protocol
