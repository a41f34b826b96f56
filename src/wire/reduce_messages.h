// The messages of reductions; part of directory_messages.h.
#pragma once

#include "hoplite/v1/directory.pb.h"
#include "planner/action.h"
#include "planner/event.h"

namespace hoplite::wire {

void Write(const planner::ReduceOpen& event, v1::NodeEvent& to);
void Write(const planner::ReduceShape& event, v1::NodeEvent& to);
void Write(const planner::SlotAssign& event, v1::NodeEvent& to);
void Write(const planner::ReduceClose& event, v1::NodeEvent& to);
void Write(const planner::SlotFailed& event, v1::NodeEvent& to);
void Write(const planner::SlotDrained& event, v1::NodeEvent& to);
void Write(const planner::ReduceCommit& event, v1::NodeEvent& to);
void Write(const planner::SlotProgress& event, v1::NodeEvent& to);

void Write(const planner::ReduceOpened& action, v1::NodeAction& to);
void Write(const planner::ReduceRefused& action, v1::NodeAction& to);
void Write(const planner::SlotLost& action, v1::NodeAction& to);
void Write(const planner::ReduceCommitted& action, v1::NodeAction& to);
void Write(const planner::SlotAssigned& action, v1::NodeAction& to);
void Write(const planner::SlotFeed& action, v1::NodeAction& to);
void Write(const planner::SlotDropped& action, v1::NodeAction& to);
void Write(const planner::TargetAborted& action, v1::NodeAction& to);

// Whether the body is one of reductions, and whether such a one speaks of one version.
bool IsReduction(v1::NodeEvent::BodyCase body);
bool IsReduction(v1::NodeAction::BodyCase body);
bool ReductionNeedsVersion(v1::NodeEvent::BodyCase body);
bool ReductionNeedsVersion(v1::NodeAction::BodyCase body);

Result<planner::NodeEvent> ReadReduction(const ObjectId& target, Version version,
                                         v1::NodeEvent& message);
Result<planner::NodeAction> ReadReduction(const ObjectId& target, Version version,
                                          v1::NodeAction& message);

}  // namespace hoplite::wire
