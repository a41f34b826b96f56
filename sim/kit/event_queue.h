// EventQueue: what happens when, in a total order: by time, then by the order of pushing.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hoplite::sim {

template <typename T>
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  Time next_time() const { return heap_.empty() ? kNever : heap_.top().time; }

  void Push(Time time, T what) {
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back(std::move(what));
    } else {
      slot = free_.back();
      free_.pop_back();
      slots_[slot] = std::move(what);
    }
    heap_.push({time, pushed_++, slot});
  }

  T Pop() {
    const std::uint32_t slot = heap_.top().slot;
    heap_.pop();
    free_.push_back(slot);
    return std::move(slots_[slot]);
  }

 private:
  // The heap moves small keys; the events stay where they are.
  struct Key {
    Time time;
    std::uint64_t order;
    std::uint32_t slot;
    bool operator<(const Key& other) const {
      return std::pair(other.time, other.order) < std::pair(time, order);
    }
  };
  std::priority_queue<Key> heap_;
  std::vector<T> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t pushed_ = 0;
};

}  // namespace hoplite::sim
