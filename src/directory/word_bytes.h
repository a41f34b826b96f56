// What a session's outbox asks of an event or action: about how large it is on the wire, of which
// object it speaks, and whether it tells the newest state of something.
#pragma once

#include <cstddef>
#include <variant>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/action.h"
#include "planner/event.h"

namespace hoplite::directory {

std::size_t WordBytes(const planner::NodeEvent& event);
std::size_t WordBytes(const planner::NodeAction& action);

// Null: of none.
inline const ObjectId* SubjectOf(const planner::NodeEvent& event) {
  return planner::ObjectOf(event);
}
inline const ObjectId* SubjectOf(const planner::NodeAction& action) {
  return &planner::ObjectOf(action);
}

// Null, or whose copy of the object a notice tells the newest state of.
inline const NodeId* HolderOf(const planner::NodeEvent& /*event*/) { return nullptr; }
inline const NodeId* HolderOf(const planner::NodeAction& action) {
  const auto* notice = std::get_if<planner::Location>(&action);
  return notice == nullptr ? nullptr : &notice->node;
}

}  // namespace hoplite::directory
