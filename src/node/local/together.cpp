#include "node/local/together.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace hoplite::node {

void Together::Add(const store::Copy& copy) {
  const store::Extent taken =
      store::ExtentAllocator::Taken(copy.segment_offset(), copy.bytes().size());
  if (taken.size == 0) return;
  pinned_[taken.offset] = taken.end();
  std::uint64_t gap = 0;
  std::uint64_t free_from = 0;
  for (const auto& [from, to] : pinned_) {
    gap = std::max(gap, from - free_from);
    free_from = to;
  }
  largest_gap_ = std::max(gap, capacity_ - free_from);
  for (auto next = waiting_.upper_bound(largest_gap_); next != waiting_.end(); ++next) {
    next->second->Notify();
  }
}

Error Together::NoRoom(const ObjectId& object, std::uint64_t bytes) const {
  return {
      ErrorCode::kResourceExhausted,
      fmt::format("object {} has {} bytes: the store of {} has no room for it beside the others "
                  "that were asked for together and are held",
                  object.ToHex(), bytes, capacity_)};
}

Together::Waiter::Waiter(std::shared_ptr<Together> together, std::uint64_t bytes,
                         net::Signal& signal)
    : together_(std::move(together)), place_(together_->waiting_.emplace(bytes, &signal)) {}

Together::Waiter::~Waiter() { together_->waiting_.erase(place_); }

}  // namespace hoplite::node
