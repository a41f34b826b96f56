// Which copies to evict for an object that does not fit. Pure: told of candidates, oldest first,
// and of the holes that are there.
//
// A victim is complete, relayed and unpinned. Candidates are taken in order of age until the holes
// that they would leave, joined with each other and with the holes that are there, have room; those
// that turned out to lie elsewhere are spared. O(log n) per candidate looked at.
#pragma once

#include <cstdint>
#include <map>
#include <ranges>
#include <vector>

#include <hoplite/object_id.h>

#include "store/extent_allocator.h"

namespace hoplite::store {

struct EvictionCandidate {
  ObjectId object;
  Extent extent;
  bool relayed = false;
  bool complete = false;
  bool pinned = false;

  bool evictable() const { return relayed && complete && !pinned && extent.size > 0; }
};

class EvictionPlan {
 public:
  EvictionPlan(const ExtentAllocator& allocator, std::uint64_t bytes);

  // True when the candidates so far make room.
  bool Add(const EvictionCandidate& candidate);
  std::vector<ObjectId> Victims() const;  // oldest first; after Add gave true

 private:
  const ExtentAllocator& allocator_;
  const std::uint64_t bytes_;
  std::vector<EvictionCandidate> chosen_;
  std::map<std::uint64_t, std::uint64_t> holes_;  // that the candidates would leave: offset -> end
  Extent room_;
};

// Empty if nothing helps.
template <std::ranges::input_range OldestFirst>
std::vector<ObjectId> PickVictims(OldestFirst&& candidates, const ExtentAllocator& allocator,
                                  std::uint64_t bytes) {
  EvictionPlan plan(allocator, bytes);
  for (const EvictionCandidate& candidate : candidates) {
    if (candidate.evictable() && plan.Add(candidate)) return plan.Victims();
  }
  return {};
}

}  // namespace hoplite::store
