#include "store/victims.h"

#include <algorithm>
#include <iterator>

namespace hoplite::store {

EvictionPlan::EvictionPlan(const ExtentAllocator& allocator, std::uint64_t bytes)
    : allocator_(allocator), bytes_(bytes) {}

bool EvictionPlan::Add(const EvictionCandidate& candidate) {
  chosen_.push_back(candidate);
  const Extent hole = allocator_.HoleAfterFree(candidate.extent);
  std::uint64_t begin = hole.offset;
  std::uint64_t end = hole.end();
  // Holes of earlier candidates may touch this one, or share a hole that was there.
  auto other = holes_.upper_bound(begin);
  if (other != holes_.begin() && std::prev(other)->second >= begin) --other;
  while (other != holes_.end() && other->first <= end) {
    begin = std::min(begin, other->first);
    end = std::max(end, other->second);
    other = holes_.erase(other);
  }
  holes_.emplace(begin, end);
  room_ = {begin, end - begin};
  return room_.size >= bytes_;
}

std::vector<ObjectId> EvictionPlan::Victims() const {
  std::vector<ObjectId> victims;
  for (const EvictionCandidate& c : chosen_) {
    if (c.extent.offset >= room_.offset && c.extent.end() <= room_.end()) {
      victims.push_back(c.object);
    }
  }
  return victims;
}

}  // namespace hoplite::store
