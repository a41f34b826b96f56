// The planner's pictures as messages of the local protocol.
#pragma once

#include <hoplite/result.h>

#include "hoplite/v1/local.pb.h"
#include "planner/action.h"
#include "planner/directory_state.h"

namespace hoplite::node {

void FillError(const Error& error, v1::local::Error& message);
void FillObject(const planner::ObjectView& view, v1::local::ObjectInfo& message);
void FillNode(const planner::NodeView& view, v1::local::ClusterStatus::Node& message);
void FillLocation(const planner::Location& location, v1::local::LocationChange& message);

}  // namespace hoplite::node
