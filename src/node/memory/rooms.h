// Rooms: memory that Gets hold while they ask where their object is, so that the question can be the
// Want, too (docs/protocol.md: R63).
//
// Decides: who holds room; it is taken from what is free, up to a small part of the store, first
// come. Is told: who asks, who needs memory. Must never: keep room that somebody waits for, or make
// anybody wait or leave for it. So who needs memory takes it, the oldest first, and who asks when
// all is given out takes what somebody has held for long: its object may never come. Whoever loses
// his room hears it. It lies at the end of the store's memory, so that it leaves no hole between
// objects when it goes. On the node's main loop only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/time.h"
#include "store/object_store.h"

namespace hoplite::node {

class Rooms {
 public:
  struct Limits {
    std::uint64_t each = 0;  // bytes
    std::uint64_t all = 0;
  };
  // Of a store of this capacity: a sixteenth, at most 16 MiB, in rooms of at most 1 MiB.
  static Limits LimitsOf(std::uint64_t capacity_bytes);

  Rooms(store::ObjectStore& store, const Limits& limits) : store_(store), limits_(limits) {}
  Rooms(const Rooms&) = delete;
  Rooms& operator=(const Rooms&) = delete;

  // Until it is destroyed, or lost.
  class Room {
   public:
    Room(Rooms& rooms, std::uint64_t number) : rooms_(rooms), number_(number) {}
    ~Room() { rooms_.held_.erase(number_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    std::uint64_t bytes() const { return rooms_.limits_.each; }

   private:
    Rooms& rooms_;
    const std::uint64_t number_;
  };

  // Null: there is none now. on_lost: once, if others need it.
  std::unique_ptr<Room> Take(Time now, std::function<void()> on_lost);
  // Somebody needs memory: the oldest goes. False: none is left.
  bool GiveUpOldest();
  // Of all that is held.
  std::uint64_t bytes() const { return held_.size() * limits_.each; }

 private:
  struct Held {
    std::shared_ptr<void> memory;
    Time since;
    std::function<void()> on_lost;
  };

  store::ObjectStore& store_;
  const Limits limits_;
  std::map<std::uint64_t, Held> held_;  // by number: in the order of their coming
  std::uint64_t taken_ = 0;             // numbers them, from 1 on
};

}  // namespace hoplite::node
