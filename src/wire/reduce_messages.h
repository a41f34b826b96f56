// The messages of reductions; part of directory_messages.h.
#pragma once

#include "hoplite/v1/directory.pb.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"

namespace hoplite::wire {

void Write(const protocol::ReduceOpen& event, v1::NodeEvent& to);
void Write(const protocol::ReduceShape& event, v1::NodeEvent& to);
void Write(const protocol::ReduceOrders& event, v1::NodeEvent& to);
void Write(const protocol::ReduceClose& event, v1::NodeEvent& to);
void Write(const protocol::SlotFailed& event, v1::NodeEvent& to);
void Write(const protocol::SlotDrained& event, v1::NodeEvent& to);
void Write(const protocol::ReduceCommit& event, v1::NodeEvent& to);
void Write(const protocol::SlotProgress& event, v1::NodeEvent& to);

void Write(const protocol::ReduceOpened& action, v1::NodeAction& to);
void Write(const protocol::ReduceRefused& action, v1::NodeAction& to);
void Write(const protocol::SlotLost& action, v1::NodeAction& to);
void Write(const protocol::ReduceCommitted& action, v1::NodeAction& to);
void Write(const protocol::SlotAssigned& action, v1::NodeAction& to);
void Write(const protocol::SlotFeed& action, v1::NodeAction& to);
void Write(const protocol::SlotDropped& action, v1::NodeAction& to);
void Write(const protocol::TargetAborted& action, v1::NodeAction& to);

// Whether the body is one of reductions, and whether such a one speaks of one version.
bool IsReduction(v1::NodeEvent::BodyCase body);
bool IsReduction(v1::NodeAction::BodyCase body);
bool ReductionNeedsVersion(v1::NodeEvent::BodyCase body);
bool ReductionNeedsVersion(v1::NodeAction::BodyCase body);

Result<protocol::NodeEvent> ReadReduction(const ObjectId& target, Version version,
                                          v1::NodeEvent& message);
Result<protocol::NodeAction> ReadReduction(const ObjectId& target, Version version,
                                           v1::NodeAction& message);

}  // namespace hoplite::wire
