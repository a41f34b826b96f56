#include "planner/node/memory_queue.h"

namespace hoplite::planner {

MemoryQueue::Place MemoryQueue::Enter(std::uint64_t bytes, std::uint64_t free_bytes) {
  const bool first = waiting_.empty();
  const auto helps_first = [&] {
    const Wanted& wanted = waiting_.begin()->second;
    return wanted.bytes <= free_bytes && wanted.failed_with < free_bytes;
  };
  const bool passes = !first && !closed() && bytes <= free_bytes && !helps_first();
  waiting_.emplace(next_, Wanted{bytes, first || passes});
  ++wanted_[bytes];
  return next_++;
}

std::vector<MemoryQueue::Place> MemoryQueue::Failed(Place place, std::uint64_t free_bytes) {
  Wanted& wanted = waiting_.at(place);
  wanted.may_look = false;
  wanted.failed_with = free_bytes;
  const bool first = place == waiting_.begin()->first;
  if (!first || wanted.bytes > free_bytes || closed()) return {};
  return WakeBehindFirst(free_bytes);
}

void MemoryQueue::Served(Place place) {
  if (place != waiting_.begin()->first) passed_ += waiting_.at(place).bytes;
}

std::vector<MemoryQueue::Place> MemoryQueue::Leave(Place place, std::uint64_t free_bytes) {
  const bool was_first = place == waiting_.begin()->first;
  const auto leaving = waiting_.find(place);
  const auto alike = wanted_.find(leaving->second.bytes);
  if (--alike->second == 0) wanted_.erase(alike);
  waiting_.erase(leaving);
  if (!was_first) return {};
  passed_ = 0;
  was_closed_ = false;
  return Wake(free_bytes);
}

std::vector<MemoryQueue::Place> MemoryQueue::Wake(std::uint64_t free_bytes) {
  if (waiting_.empty()) return {};
  const auto first = waiting_.begin();
  first->second.may_look = true;
  std::vector<Place> woken{first->first};
  // If this helps the first, it leaves the queue, and then the next one is woken as the first.
  if (first->second.bytes <= free_bytes || closed()) return woken;
  for (const Place place : WakeBehindFirst(free_bytes)) woken.push_back(place);
  return woken;
}

std::vector<MemoryQueue::Place> MemoryQueue::WakeBehindFirst(std::uint64_t free_bytes) {
  std::vector<Place> woken;
  const std::uint64_t least = wanted_.begin()->first;
  for (auto next = std::next(waiting_.begin()); next != waiting_.end() && free_bytes >= least;
       ++next) {
    if (next->second.bytes > free_bytes) continue;
    free_bytes -= next->second.bytes;
    next->second.may_look = true;
    woken.push_back(next->first);
    if (next->second.bytes == 0) break;  // one at a time of those that need nothing
  }
  return woken;
}

std::vector<MemoryQueue::Place> MemoryQueue::Tick(std::uint64_t free_bytes) {
  if (waiting_.empty()) return {};
  const bool now_closed = closed();
  if (now_closed && was_closed_) passed_ = 0;
  was_closed_ = now_closed && passed_ > 0;
  return Wake(free_bytes);
}

}  // namespace hoplite::planner
