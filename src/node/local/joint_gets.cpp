#include "node/local/joint_gets.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace hoplite::node {

namespace {

using Extents = std::map<std::uint64_t, std::uint64_t>;

std::uint64_t LargestGap(const Extents& pinned, std::uint64_t capacity) {
  std::uint64_t gap = 0;
  std::uint64_t free_from = 0;
  for (const auto& [from, to] : pinned) {
    gap = std::max(gap, from - free_from);
    free_from = to;
  }
  return std::max(gap, capacity - free_from);
}

}  // namespace

void Togethers::Look() {
  for (;;) {
    JointGets* last = nullptr;
    std::size_t count = 0;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    Extents pinned;
    for (const auto& [number, together] : waiting_) {
      const auto wanted = together->LeastWanted();
      if (!wanted) continue;
      ++count;
      last = together;
      least = std::min(least, *wanted);
      pinned.insert(together->pinned_.begin(), together->pinned_.end());
    }
    if (count < 2 || least <= LargestGap(pinned, last->capacity_)) return;
    last->GiveWay();
  }
}

void JointGets::Add(const store::Copy& copy) {
  const store::Extent taken =
      store::ExtentAllocator::Taken(copy.segment_offset(), copy.bytes().size());
  if (taken.size == 0) return;
  pinned_[taken.offset] = taken.end();
  largest_gap_ = LargestGap(pinned_, capacity_);
  for (auto next = waiting_.upper_bound(largest_gap_); next != waiting_.end(); ++next) {
    next->second.signal.Notify();
  }
  if (!waiting_.empty()) all_->Look();
}

// None if it gives way: then it waits for nothing more.
JointGets::Awaited JointGets::LeastWanted() const {
  const auto waits = std::ranges::find_if(
      waiting_, [](const auto& place) { return place.second.awaited.has_value(); });
  if (gives_way_ || waits == waiting_.end()) return std::nullopt;
  return waits->first;
}

void JointGets::GiveWay() {
  gives_way_ = true;
  for (const auto& [bytes, waiting] : waiting_) waiting.signal.Notify();
}

Error JointGets::NoRoom(const ObjectId& object, std::uint64_t bytes) const {
  return {
      ErrorCode::kResourceExhausted,
      fmt::format("object {} has {} bytes: the store of {} has no room for it beside the others "
                  "that were asked for together and are held{}",
                  object.ToHex(), bytes, capacity_,
                  gives_way_ ? ", here and by others who came first and wait as well" : "")};
}

JointGets::Waiter::Waiter(std::shared_ptr<JointGets> together, const Awaited& awaited,
                          net::Signal& signal)
    : joint_gets_(std::move(together)),
      place_(joint_gets_->waiting_.emplace(*awaited, Waiting{awaited, signal})) {
  joint_gets_->all_->waiting_.emplace(joint_gets_->number_, joint_gets_.get());
  joint_gets_->all_->Look();
}

JointGets::Waiter::~Waiter() {
  joint_gets_->waiting_.erase(place_);
  if (!joint_gets_->waiting_.empty()) return;
  joint_gets_->all_->waiting_.erase(joint_gets_->number_);
  joint_gets_->gives_way_ = false;
}

}  // namespace hoplite::node
