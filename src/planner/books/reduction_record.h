// ReductionRecord: what a shard knows of the reduction that makes an object. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/layout.h"
#include "planner/reduce/slot_tree.h"
#include "planner/words/grace.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// What the request says of owning the target.
struct OwnerClaim {
  bool owned = false;
  std::uint64_t number = 0;
  Grace grace = {};
};

struct ReductionRecord {
  NodeId coordinator = kNoNode;
  std::uint64_t request = 0;
  OwnerClaim owner;
  bool vouched = true;  // opened, or repeated, in its coordinator's present session
  bool shaped = false;
  bool everyone_reads = false;
  Layout layout;
  Fold fold;
  std::string metadata;
  std::uint64_t plan = 0;  // the last one that was ordered as one; 0: none was
  SlotTree tree;
  Version committed;  // none: still open; else the record stays until the coordinator knows, or
                      // nothing of the target is left
  // A shard without these books would perhaps fold other sources (R82).
  bool withheld = false;
  std::vector<ObjectId> used;
};

struct PendingOpen {
  NodeId node = kNoNode;
  std::uint64_t request = 0;
  OwnerClaim owner;
  ShardFold shard_fold;
  // What came after it, in an inventory: it counts once the target is reserved.
  std::vector<std::variant<ReduceShape, ReduceOrders>> then;
};

}  // namespace hoplite::planner
