// How a plan gets round nodes that can't reach each other. See docs/protocol.md, R68.
//
// A line of a, b and c, in which b can't reach a: others change places, so that the two are not
// neighbours. Where that does not help somebody stands between them, who has no source of the plan
// and passes on what comes in. A source that comes when others have their places is put below
// somebody who folds it in its stead (ReducePlacement::FolderFor), as that of a node without memory.
//
//   a ──▶ b ──▶ c     becomes   a ──▶ c ──▶ b            a ──▶ b    becomes   a ──▶ (c) ──▶ b
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "planner/reduce/reduce_peers.h"
#include "planner/reduce/reduce_plan.h"

namespace hoplite::planner {

// --- by stripes
// Members of a ring, each of which pulls from the one before it, change places.
void AvoidBlocked(const ReducePeers& peers, std::vector<ReduceMember>& ring);
bool MayFoldEachOther(const ReducePeers& peers, const std::vector<ReduceMember>& members,
                      StripeShape shape);

// --- a tree, of which nothing was said yet
// Sources change places until nobody has to pull from a node that it can't reach, or that helps no
// more. `poor` lacked memory in the plan before.
void AvoidBlocked(const ReducePeers& peers, const std::set<NodeId>& poor, ReducePlan& tree);
void Bridge(const ReducePeers& peers, const ReduceSources& sources, ReducePlan& tree);

// At that slot the node could not pull from those below it, or somebody above it not from the node.
bool IsBlockedBeside(const ReducePeers& peers, const PlannedSlots& slots, std::uint32_t slot,
                     NodeId node);

}  // namespace hoplite::planner
