// What a session's outbox asks of an event or action: about how large it is on the wire, of which
// object it speaks, and whether it tells the newest state of something.
#pragma once

#include <cstddef>
#include <variant>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"

namespace hoplite::directory {

std::size_t WordBytes(const protocol::NodeEvent& event);
std::size_t WordBytes(const protocol::NodeAction& action);

// Null: of none.
inline const ObjectId* SubjectOf(const protocol::NodeEvent& event) {
  return protocol::ObjectOf(event);
}
inline const ObjectId* SubjectOf(const protocol::NodeAction& action) {
  return &protocol::ObjectOf(action);
}

// Null, or whose copy of the object a notice tells the newest state of.
inline const NodeId* HolderOf(const protocol::NodeEvent& /*event*/) { return nullptr; }
inline const NodeId* HolderOf(const protocol::NodeAction& action) {
  const auto* notice = std::get_if<protocol::Location>(&action);
  return notice == nullptr ? nullptr : &notice->node;
}

}  // namespace hoplite::directory
