// What DirectoryState is told, and what it answers: the words of the protocol, which the planner
// speaks as its own, and what the session layer says of nodes. The server, the in-process
// directory and the simulator feed the same ones to it.
#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/link_model.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"
#include "protocol/node_info.h"
#include "protocol/reduce_action.h"
#include "protocol/reduce_event.h"
#include "protocol/register.h"
#include "protocol/views.h"

namespace hoplite::planner {

using namespace protocol;

// --- told

// A session opened (first or again). Its inventory follows. The session layer has refused
// duplicates of a name before; the same name with another id means the old node is lost at once.
struct NodeJoined {
  NodeInfo node;
  std::uint64_t highest_incarnation = 0;  // the newest that the node has seen in any version
  std::uint64_t owner_number = 0;         // the highest that it gave to a change of what it owns
  std::uint64_t register_number = 0;      // the highest that it gave to a word about a register
};
// The session ended or its lease ran out: no new grants from or to it; streams go on by themselves.
struct NodeSuspended {
  NodeId node;
};
// Its grace is over: copies and grants go, its receivers are served before others.
struct NodeLost {
  NodeId node;
};
struct NodeSaid {
  NodeId node;
  NodeEvent event;
};

using EventBody = std::variant<NodeJoined, NodeSuspended, NodeLost, NodeSaid>;
struct Event {
  Time time;
  EventBody body;
};

// --- answered: each one is a message to one node's session

// Why a Grant takes the place of another, for people: no node is told, and nothing depends on it.
enum class MoveReason : std::uint8_t {
  kNone,      // it does not, or its receiver had lost that source
  kNewcomer,  // another receiver takes its place, and serves it
  kStarved,   // nothing came from its source
  kSlow,      // its source, or it itself, holds up others
  kFaster,    // another source gives it more
  kTrial,     // to see what its source's link carries, or from there
  kOrder,     // only now does it matter who stands where
};

struct Action {
  NodeId to = kNoNode;
  NodeAction body;
  MoveReason why = MoveReason::kNone;
};

}  // namespace hoplite::planner
