// How large what is said in a session is on the wire, about; and of which object it speaks.
#pragma once

#include <cstddef>

#include <hoplite/object_id.h>

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

}  // namespace hoplite::directory
