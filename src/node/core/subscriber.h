// Subscriber: what one who follows an object from here is told.
#pragma once

#include <cstdint>
#include <functional>

#include <hoplite/result.h>

#include "protocol/node_action.h"

namespace hoplite::node {

struct Subscriber {
  std::function<void(const protocol::Location&)> on_location;  // may be empty, as may the next
  std::function<void()> on_deleted;             // or it relies on an owner, and there is none
  std::function<void(const Error&)> on_failed;  // nobody will make it: why
  std::function<void()> on_lost;                // it was there, and nobody has all of it any more
  std::function<void(NodeId)> on_forgotten;     // it may not be there any more: the session ended
  std::uint64_t expects = 0;  // its number in Expectations, if it relies on an owner
};

}  // namespace hoplite::node
