// What a node that is taken out of the cluster did with its objects (Client::Drain).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

namespace hoplite {

// An object that a drained node did not hand on.
struct LeftObject {
  ObjectId id;  // of the object
  // Why it is left.
  //   resource_exhausted  no other node has room: names nodes, and what they have free
  //   unavailable         no other node is there
  //   timeout             what is not done yet
  Error why;
};

// So many objects are named at most; all are counted.
inline constexpr std::size_t kMaxLeftObjects = 1000;

// The outcome of a drain.
struct DrainOutcome {
  std::uint64_t handed_on = 0;   // objects that only this node had, and that another has now
  std::uint64_t left_count = 0;  // objects that only this node may have, or still makes
  std::vector<LeftObject> left;  // the first kMaxLeftObjects of these
};

}  // namespace hoplite
