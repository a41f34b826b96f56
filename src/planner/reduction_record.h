// ReductionRecord: what a shard knows of the reduction that makes an object. A plain value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/layout.h"
#include "planner/reduce_event.h"

namespace hoplite::planner {

struct SlotFault {
  ErrorCode code = ErrorCode::kPeerLost;
  std::string message;
};

struct SlotRecord {
  SlotOrder order;
  std::uint64_t attempt = 0;
  Version version;                // none: vacant
  bool drained = false;           // its parent has its whole output
  StripeMarks marks;              // of its output, as last told
  std::optional<SlotFault> lost;  // the coordinator was told that it has to be assigned again
};

struct ReductionRecord {
  NodeId coordinator = kNoNode;
  std::uint64_t request = 0;
  bool vouched = true;  // opened, or repeated, in its coordinator's present session
  bool shaped = false;
  Layout layout;
  Fold fold;
  std::string metadata;
  std::map<std::uint32_t, SlotRecord> slots;
  std::map<std::uint32_t, std::set<std::uint32_t>> children;  // of `slots`, by parent
  std::map<ObjectId, std::uint32_t> folded_at;  // the slot that last was to fold this source
  std::map<NodeId, std::uint32_t> slot_of;      // the last that each node was to execute
  Version committed;  // none: still open; else the record stays until the coordinator knows, or
                      // nothing of the target is left
  std::vector<ObjectId> used;

  std::uint32_t SlotOf(NodeId node) const {
    const auto entry = slot_of.find(node);
    return entry == slot_of.end() ? 0 : entry->second;
  }
};

struct PendingOpen {
  NodeId node = kNoNode;
  std::uint64_t request = 0;
  // What came after it, in an inventory: it counts once the target is reserved.
  std::vector<std::variant<ReduceShape, SlotAssign>> then;
};

}  // namespace hoplite::planner
