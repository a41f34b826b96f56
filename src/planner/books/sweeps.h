// Sweeps: what a change of a member's standing still means for the objects that it spoke of.
//
// A node may have spoken of 300,000 objects: looking at them in one go would hold the loop that
// answers heartbeats. They are visited some at a time, oldest change first; and before anything
// else is said or decided about an object, it is taken out and visited (CatchUp in
// directory_internal.h), so that each object sees everything in the order in which it happened.
//
// Decides nothing; is told which objects a change concerns; must never visit an object for a later
// change before an earlier one. A value type.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <hoplite/object_id.h>

#include "base/digest.h"
#include "base/ids.h"
#include "base/paged_set.h"

namespace hoplite::planner {

enum class Change : std::uint8_t { kSuspended, kLost, kInventoryOver };

struct Visit {
  NodeId node = kNoNode;
  Change change = Change::kSuspended;
  bool last = false;  // that is left of the object for this node: it is the node's own again
};

class Sweeps {
 public:
  using Objects = PagedSet<ObjectId>;

  bool empty() const { return sweeps_.empty(); }
  void Add(NodeId node, Change change, Objects objects);
  // The next object to visit; there is one while this is not empty.
  const ObjectId& next() const { return sweeps_.front().objects.front(); }
  // The object's visits, in order; it has none afterwards.
  std::vector<Visit> Take(const ObjectId& object);
  bool Has(const ObjectId& object) const;
  void AddTo(Digest& digest) const;

 private:
  struct Sweep {
    NodeId node = kNoNode;
    Change change = Change::kSuspended;
    Objects objects;
  };
  void DropEmpty();

  std::deque<Sweep> sweeps_;  // the first one has objects
};

}  // namespace hoplite::planner
